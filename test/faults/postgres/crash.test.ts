import { expect, it } from "vitest";
import { StoreBusyError, UnknownOutcomeError } from "../../../src/errors.ts";
import type { JobId } from "../../../src/protocol/identity.ts";
import { audit } from "../../support/audit.ts";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import { missingOwnServer, ownServer } from "../../support/own-server.ts";
import { audited, job, leaseholdOn, startWorker, stopped } from "./server-world.ts";

optional("a PostgreSQL 18 that is killed", missingOwnServer(18), () => {
  it("W7 costs a worker no more than a pause: each acknowledged job ends once, in order of generations", async () => {
    const server = await ownServer(18);
    const query = await audited(server);
    const leasehold = leaseholdOn(server);
    const acknowledged = new Set<JobId>();
    const enqueue = async (): Promise<void> => {
      const { jobId } = await leasehold.enqueue(job, 30, { leaseMs: 5_000 });
      acknowledged.add(jobId);
    };
    for (let n = 0; n < 80; n += 1) await enqueue();
    const worker = startWorker(server.url, 5_000, 4);
    await eventually("half of them are done", () => worker.all("completed").length >= 40);

    // Somebody goes on enqueueing while the server dies and comes back.
    let refused = 0;
    let isBack = false;
    const enqueueing = (async () => {
      for (let more = 30; more > 0; ) {
        await enqueue().catch((error: unknown) => {
          if (!(error instanceof UnknownOutcomeError || error instanceof StoreBusyError)) throw error;
          refused += 1;
        });
        if (isBack) more -= 1;
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    })();
    await server.kill("postmaster");
    await worker.tells("unreachable");
    await server.start();
    isBack = true;
    await enqueueing;
    await worker.tells("reachable");

    const settled = (): Promise<boolean> =>
      leasehold.counts().then((queues) => queues.every(({ ready, leased }) => ready === 0 && leased === 0));
    await eventually("all jobs have ended", settled);
    expect(await stopped(worker)).toMatchObject({ failed: 0, lost: 0 });
    expect(await worker.exited).toBe(0);
    expect(refused).toBeGreaterThan(0);
    const { broken, ends } = await audit(query);
    expect(broken).toEqual([]);
    for (const id of [...acknowledged, ...(worker.all("completed") as JobId[])])
      expect(ends.get(id)).toEqual(["completed"]);
  });
});
