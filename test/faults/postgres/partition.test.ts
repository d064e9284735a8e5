import { join } from "node:path";
import { defineJob } from "leasehold";
import { sqliteGuard } from "leasehold/destinations/sqlite";
import { openDatabase } from "leasehold/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../stores/sqlite/world.ts";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import { missingPostgres } from "../../support/postgres-server.ts";
import { gate } from "../../worker/world.ts";
import { faultWorld } from "./world.ts";

const LEASE_MS = 2_000;

optional(
  "a worker that is cut off from PostgreSQL 18 and not from its destination",
  missingPostgres(18),
  () => {
    it("W3 hears `lease_expired` by its own clock, before anybody has its job; its place is free at once, and its effects are refused", async () => {
      const world = await faultWorld();
      const proxy = await world.proxy();
      const database = await openDatabase(join(temporaryFolder(), "data.db"));
      onTestFinished(() => database.close());
      database.exec("pragma journal_mode = wal; create table effect (generation integer)");
      const guard = sqliteGuard(database);
      const begun = gate();
      const late: string[] = [];
      const heard: unknown[] = [];
      const client = world.client(proxy.url);
      const name = "job";
      const cut = defineJob({
        name,
        leaseMs: LEASE_MS,
        async run({ lease, signal }) {
          const write = () => guard.write(lease, {}, (tx) => tx.query("insert into effect values (1)"));
          await write();
          begun.open();
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          const { generation } = await world.row((await enqueued).jobId);
          heard.push(signal.reason.reason, generation === lease.token.generation);
          await write().catch((error) => late.push(error.code));
        },
      });
      const enqueued = world.bystander.enqueue(cut);
      const { jobId } = await enqueued;
      const worker = client.work([cut], { concurrency: 1 });
      await begun.promise;
      proxy.freeze();
      await eventually("its place is free", () => late.length > 0 && worker.running === 0);
      expect(heard).toEqual(["lease_expired", true]);
      expect(late).toEqual(["LH_LEASE_NOT_TRUSTED"]);

      const taker = defineJob({
        name,
        async run({ lease }) {
          await guard.write(lease, {}, (tx) => tx.query("insert into effect values (2)"));
        },
      });
      world.bystander.work([taker], { renewer: "inline" });
      expect(await world.ended(jobId)).toMatchObject({ state: "completed", attempt: 2 });
      const rows = database.prepare("select generation from effect").all();
      expect(rows.map((row) => row["generation"])).toEqual([1, 2]);
      expect(worker.counts).toMatchObject({ completed: 0 });
    });
  },
);
