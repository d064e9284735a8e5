/** The whole way: from a worker that was away for too long to the place where its effect is refused. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { Leasehold } from "../../src/client/leasehold.ts";
import { sqliteGuard } from "../../src/destinations/sqlite/index.ts";
import { openDatabase, sqlite } from "../../src/stores/sqlite/index.ts";
import { Child } from "../support/child.ts";

it("D2 a worker that slept through its lease is refused where its effect would land, with both generations", async () => {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-late-"));
  const [jobs, data] = [join(folder, "jobs.db"), join(folder, "data.db")];
  const database = await openDatabase(data);
  database.exec("pragma journal_mode = wal; create table invoice (written_by text)");
  const guard = sqliteGuard(database);
  const leasehold = new Leasehold({ store: sqlite(jobs), log: () => {} });
  const child = new Child(fileURLToPath(new URL("./sleeping-worker.js", import.meta.url)), [jobs, data]);
  onTestFinished(async () => {
    await child.kill();
    await leasehold.close();
    database.close();
    rmSync(folder, { recursive: true });
  });
  const invoice = defineJob({
    name: "invoice",
    leaseMs: 500,
    async run({ lease }) {
      await guard.write(lease, { step: "write" }, (tx) => tx.query("insert into invoice values ('awake')"));
    },
  });

  const answer = await leasehold.enqueue(invoice);
  expect(await child.tells("running")).toMatchObject({ generation: 1 });
  const successor = leasehold.work([invoice]);
  await leasehold.result(answer, { timeoutMs: 20_000 });
  child.process.kill("SIGCONT");

  expect(await child.tells("thrown")).toMatchObject({
    code: "LH_STALE_TOKEN",
    token: { generation: 1 },
    mark: { generation: 2 },
    message: expect.stringContaining("generation 1 refused, the destination has seen 2"),
  });
  expect(database.prepare("select written_by from invoice").all()).toEqual([{ written_by: "awake" }]);
  await successor.stop();
});
