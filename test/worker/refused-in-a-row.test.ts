import { expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import type { LogEntry } from "../../src/client/log.ts";
import { eventually } from "../support/eventually.ts";
import { onRealStores } from "../support/real-stores.ts";

/** A thousand when `LEASEHOLD_REFUSALS` asks for it. */
const TIMES = Number(process.env["LEASEHOLD_REFUSALS"] ?? 200);

onRealStores("many refusals", (make) => {
  it("C9 of completions in a row are so many lost runs to the worker, which goes on", async () => {
    const log: LogEntry[] = [];
    const leasehold = (await make()).client({ log: (entry) => void log.push(entry) });
    let runs = 0;
    const job = defineJob({
      name: "job",
      async run({ job: { id } }) {
        runs += 1;
        if (runs <= TIMES) await leasehold.revoke(id);
        return runs;
      },
    });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job], { renewer: "inline" });
    const refusals: unknown[] = [];
    const errors: unknown[] = [];
    worker.on("lost", ({ refusal }) => refusals.push(refusal.outcome === "stale" && refusal.reason));
    worker.on("error", ({ error }) => errors.push(error));
    expect(await leasehold.result(answer)).toBe(TIMES + 1);
    await worker.stop();
    // Whoever claims the job meanwhile is the same worker.
    expect(refusals.filter((reason) => reason === "revoked" || reason === "reclaimed")).toHaveLength(TIMES);
    expect(worker.counts).toMatchObject({ lost: TIMES, completed: 1, failed: 0, retried: 0 });
    expect(await leasehold.get(answer)).toMatchObject({ attempt: 1, generation: 2 * TIMES + 1 });
    expect([errors, log]).toEqual([[], []]);
  }, 90_000);

  it("W5 of renewals at once fire each its signal, and the same worker completes the jobs when they come again", async () => {
    const log: LogEntry[] = [];
    const leasehold = (await make()).client({ log: (entry) => void log.push(entry) });
    const seen = new Set<string>();
    const reasons: unknown[] = [];
    const job = defineJob({
      name: "job",
      leaseMs: 10_000,
      async run({ job: { id }, signal }) {
        if (seen.has(id)) return;
        seen.add(id);
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        reasons.push((signal.reason as { reason?: unknown }).reason ?? signal.reason);
      },
    });
    const enqueued = await leasehold.enqueueMany(Array.from({ length: TIMES }, () => ({ job })));
    const worker = leasehold.work([job], { concurrency: TIMES, renewer: "inline" });
    const errors: unknown[] = [];
    worker.on("error", ({ error }) => errors.push(error));
    await eventually("all run", () => seen.size === TIMES);
    for (const { jobId } of enqueued) await leasehold.revoke(jobId);
    for (const each of enqueued) await leasehold.result(each);
    await worker.stop();
    expect(worker.counts).toMatchObject({ lost: TIMES, completed: TIMES, failed: 0, retried: 0 });
    expect(reasons).toHaveLength(TIMES);
    expect([errors, log]).toEqual([[], []]);
  }, 90_000);
});
