import { nextEpoch } from "../../src/protocol/floor.ts";
import type { FencingToken, JobId } from "../../src/protocol/identity.ts";
import { brokenBy, type Transition } from "../../src/protocol/invariants.ts";
import { memory } from "../../src/stores/memory/index.ts";
import type { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import type { MemoryState } from "../../src/stores/memory/state.ts";
import type { Store } from "../../src/stores/store.ts";
import { Chance } from "./chance.ts";
import { Faults } from "./faults.ts";
import { Ledger } from "./ledger.ts";
import type { Mutant } from "./mutants.ts";
import { grantsOf, transitionsOf } from "./observed-store.ts";
import { START_MS } from "./sim-process.ts";
import { VirtualTime } from "./virtual-time.ts";
import type { WireCounts } from "./wire.ts";

/** How many writes a standby may be behind. */
const MOST_LOST = 6;

/** What all processes of one run share: time, the store with its history, the destination, and what was found broken. */
export class SimWorld {
  readonly time = new VirtualTime();
  readonly chance: Chance;
  readonly faults: Faults;
  readonly ledger: Ledger;
  readonly wires: WireCounts = { unknown: 0, lostRequests: 0, lostReplies: 0, duplicates: 0 };
  readonly broken: string[] = [];
  readonly history: Transition[] = [];
  readonly grants: FencingToken[] = [];
  /** Of each job: when its last writes may have been lost, its past is not judged as one. */
  readonly lostPast = new Set<JobId>();
  readonly seen = { reclaims: 0, refusedRenewals: 0, lateEnds: 0, lostGrants: 0, failovers: 0 };
  readonly store: Store;
  readonly #memory: MemoryStore;
  readonly #mutant: Mutant;
  #storeAheadMs = 0;
  readonly #holders = new Map<string, JobId>();
  #past: MemoryState[] = [];

  constructor(seed: number, mutant: Mutant, without: ReadonlySet<string>) {
    this.chance = new Chance(seed);
    this.faults = new Faults(this.chance.branch(), without);
    this.ledger = new Ledger(mutant.ledger ?? {});
    this.#mutant = mutant;
    const timers = { after: () => ({ cancel() {} }), nextTurn() {}, sleep: async () => {} };
    this.#memory = memory({ nowMs: () => this.storeMs(), timers });
    this.store = this.#observed();
  }

  storeMs(): number {
    return Math.floor(START_MS + this.time.nowMs + this.#storeAheadMs);
  }

  get state(): MemoryState {
    return this.#memory.snapshot();
  }

  stepStoreClock(ms: number): void {
    this.#storeAheadMs += ms;
  }

  /** A standby that was some writes behind is promoted; its timeline raises the epoch, but for a mutant. */
  async failOver(): Promise<void> {
    const behind = Math.min(this.chance.whole(1, MOST_LOST), this.#past.length - 1);
    if (behind < 1) return;
    this.seen.failovers++;
    const now = this.#memory.snapshot();
    const then = this.#past[this.#past.length - 1 - behind] as MemoryState;
    for (const [id, job] of now.jobs) {
      const before = then.jobs.get(id);
      if (before === job) continue;
      this.lostPast.add(id);
      if (before === undefined || job.generation > before.generation) this.seen.lostGrants++;
    }
    this.#memory.restore(then);
    if (!this.#mutant.epochStays) {
      const { epoch } = then.floor;
      await this.#memory.raiseFloor({ timeoutMs: 1_000 });
      if (nextEpoch(epoch, 0) <= epoch) throw new Error("The epoch did not rise");
    }
    this.#past = [this.#memory.snapshot()];
    this.#holders.clear();
  }

  #observed(): Store {
    const mutate = this.#mutant.store ?? ((_memory, _method, args) => args);
    return new Proxy<Store>(this.#memory, {
      get: (target, property): unknown => {
        const member: unknown = Reflect.get(target, property);
        if (typeof member !== "function" || property === "listen") {
          return typeof member === "function" ? member.bind(target) : member;
        }
        return async (...given: unknown[]) => {
          const method = String(property);
          this.#mutant.corrupt?.(this.#memory, method);
          const before = this.#memory.snapshot();
          const nowMs = this.storeMs();
          const args = mutate(this.#memory, method, given) as unknown[];
          try {
            const answer: unknown = await Reflect.apply(member, target, args);
            this.#see(method, answer);
            return answer;
          } finally {
            this.#mutant.afterwards?.(this.#memory, method, before);
            this.#judge(method, given, before, nowMs);
          }
        };
      },
    });
  }

  #see(method: string, answer: unknown): void {
    const answers = (Array.isArray(answer) ? answer : []) as { readonly outcome?: string }[];
    if (method === "renew") this.seen.refusedRenewals += answers.filter(isStale).length;
    if (method === "settle") this.seen.lateEnds += answers.filter(isStale).length;
  }

  #judge(method: string, args: readonly unknown[], before: MemoryState, nowMs: number): void {
    const after = this.#memory.snapshot();
    this.#past.push(after);
    if (this.#past.length > MOST_LOST + 1) this.#past.shift();
    for (const transition of transitionsOf(method, args, before, after, nowMs)) {
      this.history.push(transition);
      if (transition.operation === "claim" && transition.before?.owner != null) this.seen.reclaims++;
      this.broken.push(...brokenBy(transition));
      this.#judgeResource(transition);
      for (const grant of grantsOf(transition)) this.grants.push(grant);
    }
  }

  /** One run at a time for each resource, as long as its lease has not lapsed by the store's clock. */
  #judgeResource({ operation, after, nowMs }: Transition): void {
    if (after?.resource == null) return;
    const { resource, jobId } = after;
    if (operation === "claim") {
      const holder = this.#holders.get(resource);
      const held =
        holder === undefined || holder === jobId ? undefined : this.#memory.snapshot().jobs.get(holder);
      if (held?.state === "leased" && (held.leaseUntilMs ?? 0) > nowMs) {
        this.broken.push(`jobs ${holder} and ${jobId} hold ${resource} at once`);
      }
      this.#holders.set(resource, jobId);
    } else if (after.state !== "leased" && this.#holders.get(resource) === jobId) {
      this.#holders.delete(resource);
    }
  }
}

function isStale({ outcome }: { readonly outcome?: string }): boolean {
  return outcome === "stale";
}
