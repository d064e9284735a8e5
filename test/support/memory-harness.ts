import { manualWorld } from "../../src/clock/manual.ts";
import type { JobId } from "../../src/protocol/identity.ts";
import { memory } from "../../src/stores/memory/index.ts";
import type { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import type { ConformanceHarness, ConformanceWorld } from "../../src/testing/index.ts";
import { withShiftedClock } from "./shifted-clock.ts";

/** A store whose clock stands still: whatever moves in these tests is moved by them. */
export function memoryStore(): MemoryStore {
  const { clock, timers } = manualWorld();
  return memory({ nowMs: () => clock.wallMs(), timers });
}

export function memoryWorld(store: MemoryStore = memoryStore()): ConformanceWorld {
  return {
    store,
    lapse: async (what, byMs) => shift(store, what, -byMs),
    setBack: async (what, byMs) => shift(store, what, byMs),
    another: async () => store,
    async begin() {
      const tx = await store.begin({ timeoutMs: 1_000 });
      return {
        tx,
        write: async (key, value) => void (await tx.query("put", [key, value])),
        commit: () => tx.commit(),
        rollback: () => tx.rollback(),
      };
    },
    writeInBody: async (tx, key, value) => void (await tx.query("put", [key, value])),
    read: async (key) => store.value(key) as string | undefined,
    withWorkerClock: async (offsetMs, body) => {
      await withShiftedClock(offsetMs, body);
      return [];
    },
    close: () => store.close(),
  };
}

function shift(store: MemoryStore, what: JobId | string, byMs: number): void {
  const moved = (timeMs: number | null): number | null => (timeMs === null ? null : timeMs + byMs);
  store.tamper(what as JobId, (job) => ({
    ...job,
    leaseUntilMs: moved(job.leaseUntilMs),
    runAtMs: moved(job.runAtMs),
  }));
  store.tamperSchedule(what, ({ schedule, setAtMs }) => ({
    schedule: { ...schedule, nextSlotMs: moved(schedule.nextSlotMs) },
    setAtMs: setAtMs + byMs,
  }));
  store.tamperLease(what, (lease) => ({ ...lease, leaseUntilMs: moved(lease.leaseUntilMs) }));
}

const ONE_PROCESS = "it lives in one process";
const NO_SCHEMA = "it has no schema";

export const memoryHarness: ConformanceHarness = {
  open: async () => memoryWorld(),
  timePrecisionMs: 1,
  gaps: [
    {
      test: "C3 of two processes that take over the same lapsed jobs each job gets one new owner",
      because: ONE_PROCESS,
    },
    { test: "lets two processes compete for the same jobs", because: ONE_PROCESS },
    { test: "what a killed process held comes back by its lapse, and never before", because: ONE_PROCESS },
    {
      test: "a store that cannot be reached is busy, unusable or unknown, and a lease is never called lost",
      because: "nothing lies between it and its caller",
    },
    { test: "what a migration would run can be seen first, and is not run by looking", because: NO_SCHEMA },
    { test: "ten that start at once on a new store migrate it once, and all work", because: NO_SCHEMA },
    { test: "a schema that is too new is refused with both versions, and left as it is", because: NO_SCHEMA },
  ],
};
