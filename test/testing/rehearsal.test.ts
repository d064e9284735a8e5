import { describe, expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { StaleTokenError } from "../../src/destinations/refusals.ts";
import { Rehearsal } from "../../src/testing/index.ts";
import { memoryGuard } from "../support/memory-guard.ts";

/** A job that charges an account, on a destination that compares tokens or on one that does not. */
function charging(isFenced: boolean, between: (rehearsal: Rehearsal) => Promise<void> | void) {
  const guard = memoryGuard();
  const unfenced: string[] = [];
  const refusals: unknown[] = [];
  const charge = defineJob({
    name: "charge",
    leaseMs: 30_000,
    async run({ lease, job }) {
      await between(rehearsal);
      if (!isFenced) {
        unfenced.push(`attempt ${job.attempt}`);
        return;
      }
      // The late owner shows its token without asking whether the lease is trusted: the request was on its way.
      const late = { token: lease.token, effectScope: lease.effectScope };
      await guard
        .write(late, {}, (tx) => {
          tx.write(`attempt ${job.attempt}`);
          return null;
        })
        .catch((error: unknown) => {
          refusals.push(error);
          throw error;
        });
    },
  });
  const rehearsal = new Rehearsal([charge]);
  onTestFinished(() => rehearsal.close());
  return { rehearsal, charge, guard, unfenced, refusals };
}

describe("a rehearsal", () => {
  it("of a handler that is not disturbed runs it once", async () => {
    const { rehearsal, charge, guard } = charging(true, () => {});
    const { job, refused } = await rehearsal.run(charge, undefined);
    expect(job).toMatchObject({ state: "completed", attempt: 1 });
    expect(refused).toEqual([]);
    expect(guard.written).toEqual(["attempt 1"]);
  });

  it("pauses a handler beyond its lease: the late write is refused where tokens are compared, and so is its end", async () => {
    const { rehearsal, charge, guard, refusals } = charging(true, (r) => r.pauseBeyondLease());
    const { job, journal } = await rehearsal.run(charge, undefined);
    expect(job).toMatchObject({ state: "completed", attempt: 2, generation: 2 });
    expect(guard.written).toEqual(["attempt 2"]);
    expect(refusals).toEqual([expect.any(StaleTokenError)]);
    expect(String(refusals[0])).toMatch(/generation 1 refused, the destination has seen 2/);
    expect(journal.map(({ kind }) => kind)).toContain("lapsed");
  });

  it("shows that the same late write lands where nothing compares tokens", async () => {
    const { rehearsal, charge, unfenced } = charging(false, (r) => r.pauseBeyondLease());
    const { refused } = await rehearsal.run(charge, undefined);
    expect(unfenced).toEqual(["attempt 2", "attempt 1"]);
    expect(refused.length).toBeGreaterThan(0);
  });

  it("takes a job over from a handler that goes on, whose signal fires", async () => {
    let aborted: unknown;
    const job = defineJob({
      name: "slow",
      leaseMs: 1_000,
      async run({ job, signal }) {
        if (job.attempt > 1) return "the second's";
        signal.addEventListener("abort", () => {
          aborted = signal.reason;
        });
        await rehearsal.takeOver();
        await rehearsal.world.timers.sleep(200);
        return "the first's";
      },
    });
    const rehearsal = new Rehearsal([job]);
    onTestFinished(() => rehearsal.close());
    const { job: ended, refused } = await rehearsal.run(job, undefined);
    expect(ended).toMatchObject({ state: "completed", attempt: 2, result: "the second's" });
    expect(String(aborted)).toMatch(/lease/);
    expect(refused.map(({ generation, current }) => [generation, current])).toContainEqual([1, 2]);
  });

  it.each(["settle", "claim", "write"] as const)(
    "loses the reply of a %s, and the job ends once",
    async (reply) => {
      let runs = 0;
      const job = defineJob({
        name: "count",
        leaseMs: 1_000,
        async run({ progress }) {
          runs++;
          await progress({ at: 1 });
          return "done";
        },
      });
      const rehearsal = new Rehearsal([job]);
      onTestFinished(() => rehearsal.close());
      rehearsal.loseReply(reply);
      const { job: ended, journal } = await rehearsal.run(job, undefined);
      expect(ended).toMatchObject({ state: "completed", result: "done" });
      expect(journal.filter(({ kind }) => kind === "completed").length).toBe(1);
      expect(runs).toBe(1);
    },
  );
});
