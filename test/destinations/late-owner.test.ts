/** The whole way: from a worker that was away for too long to the place where its effect is refused. */

import { expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { sqliteGuard } from "../../src/destinations/sqlite/index.ts";
import { openDatabase } from "../../src/stores/sqlite/index.ts";
import { gate, testWorld } from "../worker/world.ts";

it("D2 a worker that slept through its lease is refused where its effect would land, with both generations", async () => {
  const { leasehold, mortal, world } = testWorld();
  const database = await openDatabase(":memory:");
  onTestFinished(() => database.close());
  database.exec("create table invoice (written_by text)");
  const guard = sqliteGuard(database);
  const asleep = gate();
  const late = gate<unknown>();
  const invoice = (name: string, sleep: Promise<void>) =>
    defineJob({
      name: "invoice",
      leaseMs: 1_000,
      async run({ lease }) {
        lease.assertTrusted();
        await sleep; // the moment after the check, which no check can close
        const { assertTrusted: _, ...untold } = { token: lease.token, effectScope: lease.effectScope, assertTrusted: 0 };
        await guard
          .write(untold, { step: "write" }, async (tx) => {
            await tx.query("insert into invoice values ($1)", [name]);
          })
          .catch((error: unknown) => {
            late.open(error);
            throw error;
          });
      },
    });

  const a = mortal();
  const answer = await leasehold.enqueue(invoice("a", asleep.promise));
  a.leasehold.work([invoice("a", asleep.promise)]);
  await world.settle();
  a.kill(); // it renews no more, and does not know
  await world.advance(2_000);
  const b = leasehold.work([invoice("b", Promise.resolve())]);
  await world.advance(1_000);
  await expect.poll(() => leasehold.get(answer)).toMatchObject({ state: "completed" });

  asleep.open();
  const refusal = (await late.promise) as Error;
  expect(refusal).toMatchObject({ code: "LH_STALE_TOKEN", mark: { generation: 2 } });
  expect(refusal.message).toContain("generation 1 refused, the destination has seen 2");
  expect(database.prepare("select written_by from invoice").all()).toEqual([{ written_by: "b" }]);
  await b.stop();
});
