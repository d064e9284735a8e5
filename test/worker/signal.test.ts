import { describe, expect, it } from "vitest";
import { defineJob, type JobDefinition } from "../../src/client/define-job.ts";
import type { Lease } from "../../src/client/handler.ts";
import { LeaseEndedError, LeaseNotTrustedError } from "../../src/errors.ts";
import { gate, type TestWorld, testWorld } from "./world.ts";

interface Watched {
  readonly job: JobDefinition;
  /** Resolves to the reason of the run's signal. */
  reason(): LeaseEndedError | undefined;
  lease(): Lease;
  end(): void;
}

/** A job that goes on until it is told, and notes why its signal fired. */
function watched(leaseMs: number, maxRunMs?: number): Watched {
  const hold = gate();
  let seen: AbortSignal | undefined;
  let lease: Lease | undefined;
  const job = defineJob({
    name: "job",
    leaseMs,
    ...(maxRunMs === undefined ? {} : { maxRunMs }),
    run(context) {
      seen = context.signal;
      lease = context.lease;
      return hold.promise;
    },
  });
  return { job, reason: () => seen?.reason, lease: () => lease!, end: hold.open };
}

/** From now on the store answers no renewal. */
function cutOff({ store }: TestWorld): () => void {
  return store.before("renew", () => {
    throw new Error("unreachable");
  });
}

describe("a run's signal (W3)", () => {
  it("fires at trusted_until, before any contact with the store: lease_expired", async () => {
    const t = testWorld();
    const { job, reason, end } = watched(1_000);
    await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job]);
    await t.world.settle();
    cutOff(t);
    await t.world.advance(880);
    expect(reason()).toBeUndefined();
    await t.world.advance(70);
    expect(reason()).toBeInstanceOf(LeaseEndedError);
    expect(reason()?.reason).toBe("lease_expired");
    end();
    await worker.stop();
  });

  it("fires when another owner has claimed since: lease_superseded", async () => {
    const t = testWorld();
    const { job, reason, end } = watched(600);
    const { jobId } = await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job]);
    await t.world.settle();
    await t.leasehold.revoke(jobId);
    await t.store.claim(
      { owner: "other" as never, queues: ["job"], limit: 1, takeover: true },
      { timeoutMs: 1_000 },
    );
    await t.world.advance(260);
    expect(reason()?.reason).toBe("lease_superseded");
    end();
    await worker.stop();
    expect(worker.counts).toMatchObject({ lost: 1, completed: 0 });
  });

  it("fires when an operator has revoked the lease: revoked", async () => {
    const t = testWorld();
    const { job, reason, end } = watched(600);
    const { jobId } = await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job]);
    await t.world.settle();
    await t.leasehold.pauseQueue("job");
    await t.leasehold.revoke(jobId);
    await t.world.advance(260);
    expect(reason()?.reason).toBe("revoked");
    end();
    await worker.stop();
  });

  it("fires when the next renewal brings a pending cancel: cancelled; a completion still counts", async () => {
    const t = testWorld();
    const { job, reason, end } = watched(600);
    const { jobId } = await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job]);
    await t.world.settle();
    expect(await t.leasehold.cancel(jobId)).toMatchObject({ outcome: "applied", pending: true });
    await t.world.advance(260);
    expect(reason()?.reason).toBe("cancelled");
    end();
    await worker.stop();
    expect(await t.leasehold.get(jobId)).toMatchObject({ state: "completed" });
  });

  it("after a cancel, a handler that throws ends the job as cancelled, without another attempt (C13)", async () => {
    const t = testWorld();
    const job = defineJob({
      name: "job",
      leaseMs: 600,
      run: ({ signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    });
    const { jobId } = await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job]);
    await t.world.settle();
    await t.leasehold.cancel(jobId);
    await t.world.advance(300);
    expect(await t.leasehold.get(jobId)).toMatchObject({ state: "cancelled" });
    expect(worker.counts).toMatchObject({ cancelled: 1, retried: 0 });
    await worker.stop();
  });

  it("fires at maxRunMs: max_run; the run goes on being renewed for its grace", async () => {
    const t = testWorld();
    const { job, reason, end } = watched(600, 2_000);
    const { jobId } = await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job]);
    await t.world.advance(1_990);
    expect(reason()).toBeUndefined();
    await t.world.advance(60);
    expect(reason()?.reason).toBe("max_run");
    await t.world.advance(3_000);
    end();
    await worker.stop();
    expect(await t.leasehold.get(jobId)).toMatchObject({ state: "completed", attempt: 1 });
  });

  it("is fired already when first looked at after the end", async () => {
    const t = testWorld();
    const hold = gate();
    let reason: unknown;
    const job = defineJob({
      name: "job",
      leaseMs: 600,
      async run(context) {
        await hold.promise;
        reason = context.signal.reason;
      },
    });
    await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job]);
    await t.world.settle();
    cutOff(t);
    await t.world.advance(600);
    hold.open();
    await t.world.settle();
    expect(reason).toMatchObject({ reason: "lease_expired" });
    await worker.stop();
  });

  it("leaves no listener, timer or signal behind over a thousand runs that use it", async () => {
    const t = testWorld();
    const job = defineJob({
      name: "job",
      run: ({ signal }) => void signal.addEventListener("abort", () => {}),
    });
    await t.leasehold.enqueueMany(Array.from({ length: 1_000 }, () => ({ job })));
    expect(await t.leasehold.drain([job])).toMatchObject({ completed: 1_000 });
    expect(t.world.pendingTimers).toBe(0);
  });
});

describe("trust (T2, T3)", () => {
  it("is held, then unknown while the clocks disagree, then held again once a renewal has answered", async () => {
    const t = testWorld();
    const { job, lease, end, reason } = watched(3_000);
    await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job]);
    await t.world.advance(100);
    expect(lease().state).toBe("held");
    lease().assertTrusted();
    t.world.stepWall(400);
    expect(lease().state).toBe("unknown");
    expect(() => lease().assertTrusted()).toThrow(LeaseNotTrustedError);
    await t.world.advance(1_000);
    expect(lease().state).toBe("held");
    expect(reason()).toBeUndefined();
    end();
    await worker.stop();
  });

  it("asks for a renewal at once when the clocks are found to disagree", async () => {
    const t = testWorld();
    const { job, lease, end } = watched(30_000);
    await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job]);
    await t.world.advance(100);
    t.world.stepWall(-60_000);
    expect(lease().state).toBe("unknown");
    await t.world.advance(80);
    expect(lease().state).toBe("held");
    end();
    await worker.stop();
  });

  it("counts from before the request: a renewal that is answered late gives no more than it was asked for", async () => {
    const t = testWorld();
    const { job, lease, end } = watched(1_000);
    await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job]);
    await t.world.settle();
    const answer = gate();
    t.store.after("renew", () => answer.promise);
    await t.world.advance(700);
    answer.open();
    await t.world.settle();
    // Sent at about 300 ms, trusted for 900 ms from there.
    expect(lease().remainingMs()).toBeLessThanOrEqual(550);
    expect(lease().state).toBe("held");
    end();
    await worker.stop();
  });

  it("ended stays ended, though the store renews the lease later", async () => {
    const t = testWorld();
    const { job, lease, end, reason } = watched(1_000);
    const { jobId } = await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job]);
    await t.world.settle();
    const reconnect = cutOff(t);
    await t.world.advance(960);
    expect(reason()?.reason).toBe("lease_expired");
    reconnect();
    await t.world.advance(5_000);
    expect(lease().state).toBe("ended");
    expect(lease().remainingMs()).toBe(0);
    end();
    await worker.stop();
    // W5: trust had merely ended; nobody had claimed, so the result counts.
    expect(await t.leasehold.get(jobId)).toMatchObject({ state: "completed", generation: 1 });
  });

  it("a process that was stopped for three leases finds its signal fired within one tick of going on", async () => {
    const t = testWorld();
    const { job, reason, end } = watched(1_000);
    await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job]);
    await t.world.advance(10);
    t.world.freeze();
    await t.world.advance(3_000);
    t.world.thaw();
    await t.world.advance(0);
    expect(reason()?.reason).toBe("lease_expired");
    end();
    await worker.stop();
  });

  it("a machine that slept, its monotonic clock standing still, does not trust its lease after waking", async () => {
    const t = testWorld();
    const { job, lease, end } = watched(1_000);
    await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job]);
    await t.world.advance(10);
    t.world.stepWall(3_000);
    expect(() => lease().assertTrusted()).toThrow(LeaseNotTrustedError);
    end();
    await worker.stop();
  });
});
