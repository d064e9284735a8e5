import type { JobId } from "../../src/protocol/identity.ts";
import type { Transition } from "../../src/protocol/invariants.ts";
import type { JobRecord } from "../../src/protocol/job.ts";
import type { NamedLease } from "../../src/protocol/named-lease.ts";
import { memory } from "../../src/stores/memory/index.ts";
import type { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import type { MemoryState } from "../../src/stores/memory/state.ts";

/** Where a write stands: on which timeline, and how many went before it there. */
export interface Position {
  readonly primary: Primary;
  readonly at: number;
}

/** What the standby has or has yet to receive: the state after a write, and when it is there. */
interface Shipment {
  readonly at: number;
  readonly state: MemoryState;
  dueMs: number;
}

/** One timeline of the store: a primary from its promotion on, and all that was written there, before it as well. */
export class Primary {
  readonly timeline: number;
  readonly memory: MemoryStore;
  /** Where it left the timeline before it. */
  readonly fork: Position | undefined;
  /** Of this timeline and those before it, as far as they are its past. */
  readonly history: { readonly at: number; readonly transition: Transition }[] = [];
  /** What rows were at the last look: what differs has been written since. */
  readonly jobs: Map<JobId, JobRecord>;
  readonly leases: Map<string, NamedLease>;
  /** Which run each resource was last given to. */
  readonly holders = new Map<string, JobRecord>();
  /** How many writes it has made. */
  at = 0;
  /** Its clock is ahead of true time by so much. */
  aheadMs: number;
  /** Another one has been promoted; it answers whoever has not noticed. */
  isZombie = false;
  /** Nobody reaches it any more. */
  isGone = false;
  pausedUntilMs = 0;
  #shipped: Shipment;
  #underWay: Shipment[] = [];

  constructor(nowMs: () => number, aheadMs: number, fork?: Position, state?: MemoryState) {
    const timers = { after: () => ({ cancel() {} }), nextTurn() {}, sleep: async () => {} };
    this.aheadMs = aheadMs;
    this.memory = memory({ nowMs: () => Math.floor(nowMs() + this.aheadMs), timers });
    if (state !== undefined) this.memory.restore(state);
    this.fork = fork;
    this.timeline = fork === undefined ? 1 : fork.primary.timeline + 1;
    for (const { at, transition } of fork?.primary.history ?? []) {
      if (at <= (fork as Position).at) this.note(transition, 0);
    }
    const rows = this.memory.peek();
    this.jobs = new Map(rows.jobs);
    this.leases = new Map(rows.leases);
    this.#shipped = { at: 0, state: this.memory.snapshot(), dueMs: 0 };
  }

  /** Takes rows as they are for what they were, so that nobody is blamed for them. */
  look(): void {
    for (const [id, job] of this.memory.peek().jobs) this.jobs.set(id, job);
    for (const [name, lease] of this.memory.peek().leases) this.leases.set(name, lease);
  }

  note(transition: Transition, at: number): void {
    this.history.push({ at, transition });
    const { operation, after } = transition;
    if (after === undefined) return;
    if (operation === "claim" && after.resource !== null) this.holders.set(after.resource, after);
  }

  /** The last write is sent to the standby, which has it at `dueMs`, and never before those that went before it. */
  ship(dueMs: number): void {
    const before = this.#underWay.at(-1)?.dueMs ?? 0;
    this.#underWay.push({ at: this.at, state: this.memory.snapshot(), dueMs: Math.max(dueMs, before) });
  }

  /** Nothing reaches the standby until then. */
  stall(untilMs: number): void {
    for (const shipment of this.#underWay) shipment.dueMs = Math.max(shipment.dueMs, untilMs);
  }

  /** What the standby has received. */
  shippedAt(nowMs: number): { readonly at: number; readonly state: MemoryState } {
    while (this.#underWay[0] !== undefined && this.#underWay[0].dueMs <= nowMs) {
      this.#shipped = this.#underWay.shift() as Shipment;
    }
    return this.#shipped;
  }

  /** When the standby will have the write, as it looks now; undefined when it has it. */
  shippingMs(at: number, nowMs: number): number | undefined {
    if (this.shippedAt(nowMs).at >= at) return undefined;
    return this.#underWay.find((shipment) => shipment.at >= at)?.dueMs;
  }

  /** Whether a write of `position` is part of this timeline's past, or of its own. */
  has({ primary, at }: Position): boolean {
    for (let here: Primary | undefined = this, end = Number.POSITIVE_INFINITY; here !== undefined; ) {
      if (here === primary) return at <= end;
      end = here.fork?.at ?? 0;
      here = here.fork?.primary;
    }
    return false;
  }
}
