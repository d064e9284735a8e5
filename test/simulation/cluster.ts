import { UnknownOutcomeError } from "../../src/errors.ts";
import type { Claimed, Store } from "../../src/stores/store.ts";
import type { Chance } from "./chance.ts";
import type { Faults } from "./faults.ts";
import type { Mutant } from "./mutants.ts";
import { type Position, Primary } from "./primary.ts";
import { START_MS } from "./sim-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** An answer, and what had been written when it was made. */
export interface Served {
  readonly value: unknown;
  readonly position: Position;
}

/** How this run's store is kept. */
export interface ClusterTerms {
  /** Answers wait until the standby has what they rest on. */
  readonly isSynchronous: boolean;
  /** How long a write is on its way to the standby, ms, at most. */
  readonly lagMs: number;
  /** How long a primary goes on answering after another one was promoted, ms, at most; 0 for not at all. */
  readonly zombieMs: number;
}

export interface ClusterSeen {
  failovers: number;
  /** Generations that were given out and forgotten in a promotion. */
  lostGrants: number;
  /** Answers of a primary that had been replaced. */
  zombieAnswers: number;
  /** Writes of one. */
  zombieWrites: number;
  waitsCancelled: number;
}

const READS = new Set([
  "get",
  "list",
  "counts",
  "steps",
  "journal",
  "nowMs",
  "getLease",
  "outcome",
  "order.waits",
  "order.batch",
  "schedules.due",
  "schedules.get",
  "schedules.list",
]);

/**
 * The memory store as a primary with a standby: writes reach the standby some time later, and a promotion begins a new timeline
 * with what has arrived. The old primary may go on for a while, for whoever has not noticed. With synchronous replication an answer
 * waits for the standby, unless the wait is cancelled: then the write is there, and the answer says that nobody knows.
 */
export class Cluster {
  readonly seen: ClusterSeen = {
    failovers: 0,
    lostGrants: 0,
    zombieAnswers: 0,
    zombieWrites: 0,
    waitsCancelled: 0,
  };
  /** Called when another primary has been promoted. */
  readonly onPromotion: ((current: Primary, zombieMs: number) => void)[] = [];
  /** Called after each call, to look at what it has changed; answers whether it has changed anything. */
  observe: (
    primary: Primary,
    method: string,
    args: readonly unknown[],
    value: unknown,
    nowMs: number,
  ) => boolean = () => false;
  current: Primary;
  #lagMs: number;
  readonly terms: ClusterTerms;
  readonly #time: VirtualTime;
  readonly #chance: Chance;
  readonly #faults: Faults;
  readonly #mutant: Mutant;

  constructor(time: VirtualTime, chance: Chance, faults: Faults, mutant: Mutant, terms: ClusterTerms) {
    this.#time = time;
    this.#chance = chance;
    this.#faults = faults;
    this.#mutant = mutant;
    this.terms = terms;
    this.#lagMs = terms.lagMs;
    this.current = new Primary(this.#trueMs, 0);
  }

  readonly #trueMs = (): number => START_MS + this.#time.nowMs;

  nowMs({ aheadMs }: Primary): number {
    return Math.floor(this.#trueMs() + aheadMs);
  }

  /** Answers as `primary` does, some time later where it waits for the standby; never when it is gone. */
  async serve(
    primary: Primary,
    method: string,
    args: readonly unknown[],
    workerMs?: number,
  ): Promise<Served> {
    const { memory } = primary;
    const mutant = this.#mutant;
    if (primary.pausedUntilMs > this.#time.nowMs) await this.#until(primary.pausedUntilMs);
    if (primary.isGone) return new Promise(() => {});
    mutant.corrupt?.(memory, method);
    const before = mutant.afterwards === undefined ? undefined : memory.snapshot();
    const given = (mutant.store?.(memory, method, args) ?? args) as unknown[];
    if (mutant.corrupt !== undefined || mutant.store !== undefined) primary.look();
    const { aheadMs } = primary;
    if (mutant.workersClock === true && method === "claim" && workerMs !== undefined)
      primary.aheadMs = workerMs - this.#trueMs();
    let value: unknown;
    try {
      value = await invoke(memory, method, given);
    } finally {
      primary.aheadMs = aheadMs;
      if (before !== undefined) mutant.afterwards?.(memory, method, before);
      if (!READS.has(method) && this.observe(primary, method, args, value, this.nowMs(primary)))
        this.#written(primary);
    }
    if (primary.isZombie) this.seen.zombieAnswers++;
    const position = { primary, at: primary.at };
    if (this.terms.isSynchronous && restsOnWrites(method, value)) await this.#standbyHas(method, position);
    return { value, position };
  }

  /** Nothing holds up the present primary or its standby any more. */
  heal(): void {
    this.current.pausedUntilMs = 0;
    this.#lagMs = 0;
  }

  stepClock(ms: number): void {
    this.current.aheadMs += ms;
  }

  pause(ms: number): void {
    this.current.pausedUntilMs = Math.max(this.current.pausedUntilMs, this.#time.nowMs + ms);
  }

  stallStandby(ms: number): void {
    this.current.stall(this.#time.nowMs + ms);
  }

  /** The standby is promoted with what it has; its timeline raises the epoch, but for a mutant. */
  failOver(clockMs: number): void {
    const old = this.current;
    const { at, state } = old.shippedAt(this.#time.nowMs);
    this.seen.failovers++;
    for (const [id, job] of old.memory.peek().jobs) {
      if (job.generation > (state.jobs.get(id)?.generation ?? 0)) this.seen.lostGrants++;
    }
    const { floor } = state;
    const epoch = this.#mutant.epochStays ? floor.epoch : floor.epoch + 1;
    const next = { ...state, floor: { ...floor, epoch } };
    this.current = new Primary(this.#trueMs, old.aheadMs + clockMs, { primary: old, at }, next);
    old.isZombie = true;
    const zombieMs = this.#chance.between(0, this.terms.zombieMs);
    if (zombieMs === 0) old.isGone = true;
    else
      this.#time.after(zombieMs, () => {
        old.isGone = true;
      });
    for (const tell of this.onPromotion) tell(this.current, zombieMs);
  }

  #written(primary: Primary): void {
    primary.at++;
    if (primary.isZombie) this.seen.zombieWrites++;
    else if (this.terms.isSynchronous || this.#faults.events.has("fail over"))
      primary.ship(this.#time.nowMs + this.#chance.between(0, this.#lagMs));
  }

  /** Of a primary that has been replaced the standby takes nothing any more: the wait has no end. */
  async #standbyHas(method: string, { primary, at }: Position): Promise<void> {
    if (primary.shippingMs(at, this.#time.nowMs) === undefined && !primary.isZombie) return;
    if (this.#faults.strikes("cancel the wait for the standby", this.#chance)) {
      this.seen.waitsCancelled++;
      if (this.#mutant.cancelledWaitIsYes) return;
      throw new UnknownOutcomeError(method, new Error("canceling wait for synchronous replication"));
    }
    for (;;) {
      if (primary.isZombie) return new Promise(() => {});
      const dueMs = primary.shippingMs(at, this.#time.nowMs);
      if (dueMs === undefined) return;
      await this.#until(dueMs);
    }
  }

  #until(ms: number): Promise<void> {
    return new Promise((resolve) => this.#time.after(ms - this.#time.nowMs, resolve));
  }
}

/** `schedules.fire` is the method of a part of the store. */
function invoke(store: Store, method: string, args: readonly unknown[]): Promise<unknown> {
  const dot = method.indexOf(".");
  const target = (dot < 0 ? store : Reflect.get(store, method.slice(0, dot))) as Record<string, Method>;
  const name = dot < 0 ? method : method.slice(dot + 1);
  return (target[name] as Method)(...args);
}

type Method = (...args: readonly unknown[]) => Promise<unknown>;

/** Whether the answer says of something that it has been written, now or before (C11). */
function restsOnWrites(method: string, value: unknown): boolean {
  if (method === "claim") return (value as Claimed).jobs.length + (value as Claimed).ended.length > 0;
  if (method === "outcome") return (value as { readonly outcome: string }).outcome === "settled";
  if (READS.has(method)) return false;
  return !Array.isArray(value) || value.some(({ outcome }) => outcome !== "stale" && outcome !== "gone");
}
