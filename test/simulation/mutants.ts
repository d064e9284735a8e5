import type { Fence } from "../../src/protocol/identity.ts";
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

export const MUTANTS: Readonly<Record<string, Mutant>> = {
  "owner compared without generation": {
    store: (memory, method, args) =>
      withFences(
        args,
        (fence) => {
          const job = memory.snapshot().jobs.get(fence.jobId);
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
              const job = memory.snapshot().jobs.get(fence.jobId);
              return job?.owner == null ? fence : { ...fence, owner: job.owner, generation: job.generation };
            },
            method,
          ),
  },
  "generation not stepped on re-claim": {
    afterwards: (memory, method, before) => {
      if (method !== "claim") return;
      for (const [id, was] of before.jobs) {
        const is = memory.snapshot().jobs.get(id);
        if (was.owner !== null && is?.owner != null && is.generation > was.generation) {
          memory.tamper(id, (job) => ({ ...job, generation: was.generation }));
        }
      }
    },
  },
  "claim without the expiry condition": {
    store: (memory, method, args) => {
      if (method === "claim" && (args[0] as ClaimRequest).takeover) {
        for (const [id, job] of memory.snapshot().jobs) {
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
        const is = memory.snapshot().jobs.get(id);
        if (was.owner !== null && is?.state === "leased" && is.attempt > was.attempt) {
          memory.tamper(id, (job) => ({ ...job, attempt: was.attempt }));
        }
      }
    },
  },
  "pending cancel forgotten": {
    corrupt: (memory, method) => {
      if (method !== "settle") return;
      for (const [id, job] of memory.snapshot().jobs) {
        if (job.cancelRequested) memory.tamper(id, (one) => ({ ...one, cancelRequested: false }));
      }
    },
  },
  "resource of a run given to others": {
    corrupt: (memory, method) => {
      if (method !== "claim") return;
      for (const name of memory.snapshot().leases.keys()) {
        memory.tamperLease(name, (lease) => ({ ...lease, owner: null, leaseUntilMs: null, heldFor: null }));
      }
    },
  },
  "token without epoch": { epochStays: true },
  "fence absent": { ledger: { blind: true } },
  "owner ignored on equality, tokens without epoch": { ledger: { ownerIgnored: true }, epochStays: true },
  "a replay that does not raise the mark": { ledger: { quietReplay: true } },
  "idempotency record lost": { ledger: { forgetful: true } },
  "key without the job id": { keyWithoutJob: true },
  "no trust in the lease asked": { trustIgnored: true },
};
