import { describe, expect, it } from "vitest";
import { defineJob } from "../../../src/client/define-job.ts";
import { UnknownOutcomeError } from "../../../src/errors.ts";
import type { Fence, JobId, Owner } from "../../../src/protocol/identity.ts";
import { CALL, ids, newJob } from "../../stores/postgres/world.ts";
import { audit } from "../../support/audit.ts";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import { missingOwnServer, type OwnServer, ownServer } from "../../support/own-server.ts";
import { POSTGRES_VERSIONS } from "../../support/postgres-server.ts";
import { audited, leaseholdOn, storeOn } from "./server-world.ts";

/** Cancels a commit that waits for the standby, as somebody does who sees the server hang. */
async function cancelWait(primary: OwnServer): Promise<void> {
  await eventually("a commit waits for the standby, and is let go", async () => {
    const cancelled = await primary.query(
      "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'",
    );
    return cancelled.length > 0;
  });
}

for (const version of POSTGRES_VERSIONS) {
  optional(`PostgreSQL ${version} with a synchronous standby that hangs`, missingOwnServer(version), () => {
    describe("a commit whose wait is cancelled", () => {
      it("C11 leaves the outcome of an enqueue, claim, renewal and end unknown, though it has happened", async () => {
        const primary = await ownServer(version);
        const store = storeOn(primary);
        const owner = ids.owner();
        const job = newJob();
        const claimed = newJob({ queue: "claimed" });
        await store.enqueue([job, claimed], CALL);
        const claim = async (queue: string, by: Owner): Promise<Fence> => {
          const { jobs } = await store.claim({ owner: by, queues: [queue], limit: 1, takeover: false }, CALL);
          const { jobId, generation } = jobs[0]?.job ?? {};
          return { jobId: jobId as JobId, owner: by, generation: generation as Fence["generation"] };
        };
        const fence = await claim("claimed", owner);
        const standby = await primary.standby({ synchronous_standby_names: "*" });
        const unknown = async (call: Promise<unknown>): Promise<void> => {
          const told = expect(call).rejects.toThrow(UnknownOutcomeError);
          await cancelWait(primary);
          await told;
        };
        standby.freeze();
        const another = newJob();
        await unknown(store.enqueue([another], CALL));
        expect(await store.get([another.jobId], CALL)).toMatchObject([{ state: "ready" }]);
        await unknown(claim("queue", owner));
        expect(await store.get([job.jobId], CALL)).toMatchObject([{ state: "leased", owner, generation: 1 }]);
        await unknown(store.renew([fence], CALL));
        const settlement = { operation: "complete", fence, result: null } as const;
        await unknown(store.settle([settlement], CALL));
        // That it can be read makes it no more durable: a standby that is promoted now has none of it.
        await unknown(store.settle([settlement], CALL));
        await unknown(store.outcome(fence, CALL));
        await unknown(store.enqueue([{ ...another, mayRepeat: true }], CALL));
        standby.thaw();
        expect(await store.settle([settlement], CALL)).toMatchObject([{ outcome: "already" }]);
        expect(await store.outcome(fence, CALL)).toMatchObject({ outcome: "settled" });
        const repeat = await store.enqueue([{ ...another, mayRepeat: true }], CALL);
        expect(repeat).toMatchObject([{ outcome: "repeated" }]);
      });

      it("C11 is asked about again by a worker until it is known, and its job ends once", async () => {
        const primary = await ownServer(version);
        const query = await audited(primary);
        const repeated: unknown[] = [];
        const leasehold = leaseholdOn(primary, {
          log: ({ kind, error }) => void (kind === "settle_repeated" && repeated.push(error)),
        });
        const standby = await primary.standby({ synchronous_standby_names: "*" });
        let ran = 0;
        let freeze = (): void => {};
        const job = defineJob({
          name: "job",
          run() {
            ran += 1;
            freeze();
            return "done";
          },
        });
        freeze = () => standby.freeze();
        const { jobId } = await leasehold.enqueue(job);
        const worker = leasehold.work([job]);
        // Before that the claim waits as well, for as long as a healthy standby takes.
        await eventually("the standby stands still", () => ran > 0);
        await cancelWait(primary);
        await eventually("the worker does not believe the answer", () => repeated.length > 0);
        await cancelWait(primary); // nor that the job has ended already
        await eventually("and asks again", () => repeated.length > 1);
        for (const error of repeated) expect(error).toBeInstanceOf(UnknownOutcomeError);
        expect(worker.counts).toMatchObject({ completed: 0, failed: 0, retried: 0, lost: 0 });
        standby.thaw();
        expect(await leasehold.result(jobId)).toBe("done");
        await eventually("the worker knows", () => worker.counts.completed === 1);
        expect(worker.counts).toMatchObject({ completed: 1, failed: 0, retried: 0, lost: 0 });
        expect(ran).toBe(1);
        expect((await audit(query)).ends.get(jobId)).toEqual(["completed"]);
      });
    });
  });
}
