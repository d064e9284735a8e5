import type { Fence, JobId } from "../../src/protocol/identity.ts";
import type { Settlement } from "../../src/protocol/settle.ts";
import type { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import type { MemoryState } from "../../src/stores/memory/state.ts";
import type { ClaimRequest } from "../../src/stores/store.ts";
import type { LedgerMutant } from "./ledger.ts";

/** A broken store, destination or worker, which the simulation has to find. */
export interface Mutant {
  readonly ledger?: LedgerMutant;
  /** What the store really does with a call's arguments. */
  readonly store?: (memory: MemoryStore, method: string, args: readonly unknown[]) => readonly unknown[];
  /** What befalls the rows before a call, unseen. */
  readonly corrupt?: (memory: MemoryStore, method: string) => void;
  /** What the store does beside a call, after it. */
  readonly afterwards?: (memory: MemoryStore, method: string, before: MemoryState) => void;
  /** A promoted standby gives out generations from where it stands. */
  readonly epochStays?: boolean;
  /** The claim goes by the wall clock of the worker that asks. */
  readonly workersClock?: boolean;
  /** A write whose wait for the standby was cancelled is taken for done. */
  readonly cancelledWaitIsYes?: boolean;
  /** A kit does not ask whether the lease is trusted. */
  readonly trustIgnored?: boolean;
  /** A kit's key is the step alone. */
  readonly keyWithoutJob?: boolean;
}

export const SOUND: Mutant = {};

function withFences(
  args: readonly unknown[],
  change: (fence: Fence) => Fence,
  method: string,
): readonly unknown[] {
  const [given, ...rest] = args;
  if (method === "renew") return [(given as readonly Fence[]).map(change), ...rest];
  if (method === "settle") {
    const settlements = (given as readonly Settlement[]).map((one) => ({ ...one, fence: change(one.fence) }));
    return [settlements, ...rest];
  }
  return args;
}

/** What a sweep has found lapsed. */
const lapsedIn = new WeakMap<MemoryStore, Set<JobId>>();

function noteLapsed(memory: MemoryStore, before: MemoryState, id: JobId): void {
  const [was, is] = [before.jobs.get(id), memory.peek().jobs.get(id)];
  const lapsed = lapsedIn.get(memory) ?? new Set();
  lapsedIn.set(memory, lapsed);
  // It was renewed after it had lapsed: the snapshot still says that it had.
  if (was?.state === "leased" && is?.state === "leased" && is.leaseUntilMs !== was.leaseUntilMs)
    lapsed.add(id);
  else lapsed.delete(id);
}

export const MUTANTS: Readonly<Record<string, Mutant>> = {
  "owner compared without generation": {
    store: (memory, method, args) =>
      withFences(
        args,
        (fence) => {
          const job = memory.peek().jobs.get(fence.jobId);
          return job?.owner === fence.owner ? { ...fence, generation: job.generation } : fence;
        },
        method,
      ),
  },
  "completion by id only": {
    store: (memory, method, args) =>
      method !== "settle"
        ? args
        : withFences(
            args,
            (fence) => {
              const job = memory.peek().jobs.get(fence.jobId);
              return job?.owner == null ? fence : { ...fence, owner: job.owner, generation: job.generation };
            },
            method,
          ),
  },
  "generation not stepped on re-claim": {
    afterwards: (memory, method, before) => {
      if (method !== "claim") return;
      for (const [id, was] of before.jobs) {
        const is = memory.peek().jobs.get(id);
        if (was.owner !== null && is?.owner != null && is.generation > was.generation) {
          memory.tamper(id, (job) => ({ ...job, generation: was.generation }));
        }
      }
    },
  },
  "claim without the expiry condition": {
    store: (memory, method, args) => {
      if (method === "claim" && (args[0] as ClaimRequest).takeover) {
        for (const [id, job] of memory.peek().jobs) {
          if (job.state === "leased") memory.tamper(id, (one) => ({ ...one, leaseUntilMs: 0 }));
        }
      }
      return args;
    },
  },
  "crash not counted as attempt": {
    afterwards: (memory, method, before) => {
      if (method !== "claim") return;
      for (const [id, was] of before.jobs) {
        const is = memory.peek().jobs.get(id);
        if (was.owner !== null && is?.state === "leased" && is.attempt > was.attempt) {
          memory.tamper(id, (job) => ({ ...job, attempt: was.attempt }));
        }
      }
    },
  },
  "pending cancel forgotten": {
    corrupt: (memory, method) => {
      if (method !== "settle") return;
      for (const [id, job] of memory.peek().jobs) {
        if (job.cancelRequested) memory.tamper(id, (one) => ({ ...one, cancelRequested: false }));
      }
    },
  },
  "resource of a run given to others": {
    corrupt: (memory, method) => {
      if (method !== "claim") return;
      for (const name of memory.peek().leases.keys()) {
        memory.tamperLease(name, (lease) => ({ ...lease, owner: null, leaseUntilMs: null, heldFor: null }));
      }
    },
  },
  "reclaim by id only": {
    store: (memory, method, args) => {
      if (method !== "claim" || !(args[0] as ClaimRequest).takeover) return args;
      const nowLapsed = lapsedIn.get(memory) ?? new Set();
      for (const id of nowLapsed) memory.tamper(id, (job) => ({ ...job, leaseUntilMs: job.owner && 0 }));
      return args;
    },
    afterwards: (memory, method, before) => {
      // What a sweep has seen lapsed is taken by whoever comes next, whatever has become of it since.
      if (method === "renew") for (const id of before.jobs.keys()) noteLapsed(memory, before, id);
    },
  },
  "worker's clock in the claim": { workersClock: true },
  "cancelled wait for the standby taken for done": { cancelledWaitIsYes: true },
  "token without epoch": { epochStays: true },
  "fence absent": { ledger: { blind: true } },
  "owner ignored on equality, tokens without epoch": { ledger: { ownerIgnored: true }, epochStays: true },
  "a replay that does not raise the mark": { ledger: { quietReplay: true } },
  "fence asked in one transaction, effect made in another": { ledger: { inTwo: true } },
  "idempotency key written after the effect": { ledger: { keyLate: true } },
  "idempotency record lost": { ledger: { forgetful: true } },
  "key without the job id": { keyWithoutJob: true },
  "no trust in the lease asked": { trustIgnored: true },
};
