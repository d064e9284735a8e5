// A store's author who uses Node's own test runner writes about this much. Started by the test of the same name.

import { describe, it } from "node:test";
import { memory, storeConformance } from "../../dist/testing/index.js";

/**
 * @param {import("../../dist/testing/index.js").ConformanceWorld["store"]} store
 * @returns {import("../../dist/testing/index.js").ConformanceWorld}
 */
function worldOf(store) {
  const inner = /** @type {ReturnType<typeof memory>} */ (store);
  /** @type {(what: string, byMs: number) => void} */
  const shift = (what, byMs) => {
    /** @type {(timeMs: number | null) => number | null} */
    const moved = (timeMs) => (timeMs === null ? null : timeMs + byMs);
    inner.tamper(/** @type {never} */ (what), (job) => ({
      ...job,
      leaseUntilMs: moved(job.leaseUntilMs),
      runAtMs: moved(job.runAtMs),
    }));
    inner.tamperSchedule(what, ({ schedule, setAtMs }) => ({
      schedule: { ...schedule, nextSlotMs: moved(schedule.nextSlotMs) },
      setAtMs: setAtMs + byMs,
    }));
    inner.tamperLease(what, (lease) => ({ ...lease, leaseUntilMs: moved(lease.leaseUntilMs) }));
  };
  return {
    store,
    lapse: async (what, byMs) => shift(what, -byMs),
    setBack: async (what, byMs) => shift(what, byMs),
    another: async () => store,
    begin: async () => {
      const tx = await inner.begin({ timeoutMs: 1_000 });
      return {
        tx,
        write: async (key, value) => void (await tx.query("put", [key, value])),
        commit: () => tx.commit(),
        rollback: () => tx.rollback(),
      };
    },
    writeInBody: async (tx, key, value) => void (await tx.query("put", [key, value])),
    read: async (key) => /** @type {string | undefined} */ (inner.value(key)),
    withWorkerClock: async (_, body) => {
      await body();
      return [];
    },
    close: () => store.close(),
  };
}

storeConformance({ describe, it }, "memory", {
  open: async () => worldOf(memory()),
  timePrecisionMs: 1,
  gaps: [
    "C3 of two processes that take over the same lapsed jobs each job gets one new owner",
    "lets two processes compete for the same jobs",
    "what a killed process held comes back by its lapse, and never before",
    "a store that cannot be reached is busy, unusable or unknown, and a lease is never called lost",
    "what a migration would run can be seen first, and is not run by looking",
    "ten that start at once on a new store migrate it once, and all work",
    "a schema that is too new is refused with both versions, and left as it is",
  ].map((test) => ({ test, because: "it lives in one process" })),
});
