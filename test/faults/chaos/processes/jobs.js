// The jobs of the workload. Their handlers behave: they look at the lease before each effect, and stop when it is refused.

import { defineJob, FinalError } from "leasehold";
import { DESTINATIONS, STEPS } from "./effects.js";

/** @typedef {import("../../../../src/client/handler.ts").RunContext<any>} Context */
/** @typedef {{ readonly fails?: number, readonly ms?: number, readonly shares?: string, readonly unique?: string }} Input */

/** Waits between attempts, ms. */
const BACKOFF = /** @type {const} */ ({ kind: "exponential", baseMs: 20, capMs: 200, jitter: "full" });
export const MAX_BACKOFF_MS = BACKOFF.capMs;
/** Enough for faults of all kinds: a run that ends with failed jobs for want of attempts would show little. */
const MAX_ATTEMPTS = 60;

/**
 * @param {number} leaseMs
 * @param {(context: Context) => Promise<unknown>} run
 */
export function chaosJobs(leaseMs, run) {
  const common = { queue: "chaos", leaseMs, maxAttempts: MAX_ATTEMPTS, backoff: BACKOFF };
  return {
    work: defineJob({ ...common, name: "work", run }),
    /** Those of the schedule, and no others. */
    tick: defineJob({ ...common, name: "tick", run }),
    unique: defineJob({
      ...common,
      name: "unique",
      unique: (/** @type {Input} */ { unique }) => ({ key: unique ?? "", onConflict: "keep" }),
      run,
    }),
    shared: defineJob({
      ...common,
      name: "shared",
      resource: (/** @type {Input} */ { shares }) => shares,
      run,
    }),
    /** Ended with its last effect, in the store's own transaction. */
    together: defineJob({
      ...common,
      name: "together",
      run: async (/** @type {Context} */ context) => {
        await run(context);
        await context.job.complete(async (tx) => {
          await tx.query("select 1 as one");
        });
      },
    }),
  };
}

/**
 * What a run does: it fails the first times, or makes each effect at each destination, with a pause somewhere so that its
 * lease has to be renewed.
 *
 * @param {import("./effects.js").Effects} effects
 * @param {import("./history-file.js").HistoryFile} history
 * @param {import("./runs.js").Runs} runs
 * @returns {(context: Context) => Promise<unknown>}
 */
export function handler(effects, history, runs) {
  return async ({ input, job, lease, signal }) => {
    const { fails = 0, ms = 0 } = /** @type {Input} */ (Object(input));
    const generation = runs.of(job.id, lease.token);
    const about = { job: job.id, line: `job:${job.id}`, generation, owner: lease.token.owner };
    history.note("handler began", about);
    runs.inHandlers++;
    try {
      if (job.attempt <= fails) throw new Error(`fails ${fails} times`);
      if (fails < 0) throw new FinalError("is not to be tried again");
      const pieces = DESTINATIONS.length * STEPS.length;
      for (const destination of DESTINATIONS) {
        for (const step of STEPS) {
          await effects.make(job.id, lease, destination, step);
          await pause(ms / pieces, signal);
        }
      }
      runs.ended(job.id);
      return { by: generation };
    } finally {
      runs.inHandlers--;
      history.note("handler ended", about);
    }
  };
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 */
async function pause(ms, signal) {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve(undefined);
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}
