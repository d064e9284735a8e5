import { describe, expect, it } from "vitest";
import { StoreBusyError } from "../../../src/errors.ts";
import { EPOCH_SIZE } from "../../../src/protocol/floor.ts";
import type { JobId } from "../../../src/protocol/identity.ts";
import { CALL, ids, newJob } from "../../stores/postgres/world.ts";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import { missingOwnServer, ownServer } from "../../support/own-server.ts";
import { allEnded, audited, job, leaseholdOn, startWorker, stopped, storeOn } from "./server-world.ts";

optional("a PostgreSQL 18 that only reads for a while", missingOwnServer(18), () => {
  describe("a standby", () => {
    it("C11 answers every write as busy, which says for certain that nothing was written; a worker goes on once it is promoted", async () => {
      const server = await ownServer(18);
      const query = await audited(server);
      const leasehold = leaseholdOn(server);
      const enqueued = await leasehold.enqueueMany(
        Array.from({ length: 100 }, () => ({ job, input: 30, leaseMs: 1_000 })),
      );
      const worker = startWorker(server.url, 1_000, 4);
      await eventually("some are done", () => worker.all("completed").length >= 20);
      await server.stop();
      server.becomeStandby();
      await server.start();
      await worker.tells("unreachable");

      const store = storeOn(server);
      const fence = { jobId: enqueued[99]?.jobId as JobId, owner: ids.owner(), generation: 1 as never };
      const calls = {
        enqueue: () => store.enqueue([newJob()], CALL),
        claim: () => store.claim({ owner: ids.owner(), queues: ["job"], limit: 1, takeover: true }, CALL),
        renew: () => store.renew([fence], CALL),
        settle: () => store.settle([{ operation: "complete", fence, result: null }], CALL),
        acquire: () => store.acquire({ name: "lease", owner: ids.owner(), leaseMs: 1_000 }, CALL),
        raiseFloor: () => store.raiseFloor(CALL),
      };
      for (const [name, call] of Object.entries(calls))
        await expect(call(), name).rejects.toThrow(StoreBusyError);
      expect(await store.get([fence.jobId], CALL)).toMatchObject([{ generation: 0 }]);

      await server.promote();
      await worker.tells("reachable");
      const found = await allEnded(query, enqueued.length);
      expect(found.broken).toEqual([]);
      for (const { jobId } of enqueued) expect(found.ends.get(jobId)).toEqual(["completed"]);
      expect((await leasehold.get(enqueued[99]!))?.generation).toBe(EPOCH_SIZE + 1);
      expect(await stopped(worker)).toMatchObject({ failed: 0 });
    });
  });
});
