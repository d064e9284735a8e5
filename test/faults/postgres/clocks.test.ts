import { expect, it } from "vitest";
import { missingFaketime, shiftedBy } from "../../support/faketime.ts";
import { optional } from "../../support/optional.ts";
import { missingOwnServer, ownServer } from "../../support/own-server.ts";
import { allEnded, audited, job, leaseholdOn, startWorker, stopped } from "./server-world.ts";

const HOUR_MS = 3_600_000;

optional("two workers whose clocks are two hours apart", missingFaketime ?? missingOwnServer(18), () => {
  it("T1, T4 drain one queue: no lease is taken early, each job runs and ends once", async () => {
    const server = await ownServer(18);
    const query = await audited(server);
    const leasehold = leaseholdOn(server);
    const leaseMs = 2_000;
    // Some take longer than a lease: they end only because they are renewed. Some are delayed.
    const entries = Array.from({ length: 60 }, (_, n) => ({
      job,
      input: n % 10 === 0 ? 2_500 : 20,
      leaseMs,
      delayMs: n % 3 === 0 ? 500 : 0,
    }));
    const [early, late] = [-HOUR_MS, HOUR_MS].map((ms) =>
      startWorker(server.url, leaseMs, 4, { env: shiftedBy(ms) }),
    );
    if (early === undefined || late === undefined) throw new Error("two were started");
    const [there, here] = await Promise.all([early.tells("working"), late.tells("working")]);
    expect(Number(here) - Number(there)).toBeGreaterThan(1.9 * HOUR_MS);
    const enqueued = await leasehold.enqueueMany(entries);
    const found = await allEnded(query, enqueued.length);
    expect(found).toMatchObject({ broken: [] });
    for (const { jobId } of enqueued) expect(found.ends.get(jobId)).toEqual(["completed"]);
    for (const worker of [early, late]) {
      expect(await stopped(worker)).toMatchObject({ failed: 0 });
      expect(worker.all("completed").length).toBeGreaterThan(0);
    }
  });
});
