// Jobs of Leasehold with more to them than the adapters know, and its store without a worker.

import { defineJob, Leasehold } from "../../dist/index.js";
import { inputOf } from "../systems/system.js";

const CALL = { timeoutMs: 30_000 };
const JOBS_A_CALL = 1_000;

/** The one that Leasehold's adapters run. */
const noop = defineJob({ name: "noop", run() {} });

/**
 * @template T
 * @param {import("../systems/system.js").System} system one of Leasehold's
 * @param {import("../systems/system.js").Place} place
 * @param {(own: ReturnType<typeof ownOn>) => Promise<T>} fn
 */
export async function withOwn(system, place, fn) {
  const store = /** @type {NonNullable<typeof system.store>} */ (system.store)(place);
  const client = new Leasehold({ store, callTimeoutMs: CALL.timeoutMs });
  try {
    await client.open();
    return await fn(ownOn(client, store));
  } finally {
    await client.close();
  }
}

/** @param {Leasehold} client @param {import("../../dist/index.js").Store} store */
function ownOn(client, store) {
  const owner = /** @type {import("../../dist/index.js").Owner} */ ("bench");
  /** @param {number} limit */
  const claim = async (limit) => {
    const { jobs } = await store.claim({ owner, queues: [noop.queue], limit, takeover: false }, CALL);
    return jobs.map(({ job }) => ({ jobId: job.jobId, owner, generation: job.generation }));
  };
  return {
    store,
    /** @param {import("../../dist/index.js").JobOptions} [options] */
    enqueue: (options) => client.enqueue(noop, inputOf(0), options),
    /** @param {number} count @param {(n: number) => import("../../dist/index.js").JobOptions} [optionsOf] */
    async enqueueMany(count, optionsOf = () => ({})) {
      for (let n = 0; n < count; n += JOBS_A_CALL) {
        const entries = Array.from({ length: Math.min(JOBS_A_CALL, count - n) }, (_, i) => ({
          job: noop,
          input: inputOf(n + i),
          ...optionsOf(n + i),
        }));
        await client.enqueueMany(entries);
      }
    },
    /** Fences of jobs that are now held by an owner who does not renew them. */
    claim,
    /** Asks again for those whose rows were locked just then, as a worker does. @param {Awaited<ReturnType<typeof claim>>} fences */
    async complete(fences) {
      for (let left = fences; left.length > 0; ) {
        const answers = await store.settle(
          left.map((fence) => ({ operation: "complete", fence, result: null })),
          CALL,
        );
        const other = answers.find(({ outcome }) => outcome !== "applied" && outcome !== "busy");
        if (other !== undefined) throw new Error(`a completion was ${other.outcome}`);
        left = left.filter((_, n) => answers[n].outcome === "busy");
      }
    },
    /** @param {Awaited<ReturnType<typeof claim>>} fences */
    fail: (fences) =>
      store.settle(
        fences.map((fence) => ({
          operation: "fail",
          fence,
          error: JSON.stringify({ name: "Error", message: "no" }),
          retryInMs: "final",
        })),
        CALL,
      ),
    /** @param {Awaited<ReturnType<typeof claim>>} fences */
    renew: (fences) => store.renew(fences, CALL),
  };
}
