import { v7 } from "uuid";
import { sleepBy } from "../../src/clock/sleep.ts";
import type { FaultPoint, Timer, Timers, World } from "../../src/clock/world.ts";
import { jobId, owner } from "../../src/protocol/identity.ts";
import type { Chance } from "./chance.ts";
import type { Happening, VirtualTime } from "./virtual-time.ts";

/** How a process's two clocks run against true time. */
export interface Clocks {
  readonly rate: number;
  /** Its wall clock is ahead by so much, ms. */
  readonly aheadMs: number;
}

/**
 * One process: its world, and what befalls it. Frozen, nothing of it runs though time passes, and what fell due runs late;
 * killed, nothing of it ever runs again, and what it has sent is still on its way.
 */
export class SimProcess {
  readonly name: string;
  readonly world: World;
  isDead = false;
  /** True time until which what befell it may still show. */
  troubledUntilMs: number = Number.NEGATIVE_INFINITY;
  /** Of that, what befell its own clock or loop, and not a message. */
  upsetUntilMs: number = Number.NEGATIVE_INFINITY;
  /** Called at each fault point; may freeze or kill it. */
  onPoint: (point: FaultPoint) => void = () => {};
  /** True time until which it is frozen; 0 when it runs. */
  #frozenUntilMs = 0;
  readonly #late: (() => void)[] = [];
  readonly #turns: (() => void)[] = [];
  readonly #time: VirtualTime;
  readonly #clocks: Clocks;
  #stepMs = 0;

  constructor(name: string, time: VirtualTime, chance: Chance, clocks: Clocks) {
    this.name = name;
    this.#time = time;
    this.#clocks = clocks;
    const timers: Timers = {
      after: (delayMs, fn) => this.#after(delayMs, fn),
      nextTurn: (fn) => {
        this.#turns.push(fn);
        this.later(0, () => this.#turns.shift()?.());
      },
      sleep: sleepBy((delayMs, fn) => this.#after(delayMs, fn)),
    };
    const bytes = (count: number): Uint8Array =>
      Uint8Array.from({ length: count }, () => Math.floor(chance.next() * 256));
    this.world = {
      clock: { monotonicMs: () => this.monotonicMs(), wallMs: () => Math.floor(this.#wallMs()) },
      timers,
      random: { next: chance.next },
      ids: {
        jobId: () => jobId(v7({ msecs: Math.floor(this.#wallMs()), random: bytes(16) })),
        owner: () => owner(`${name}-${Buffer.from(bytes(6)).toString("hex")}`),
      },
      reached: (point) => this.onPoint(point),
    };
  }

  get isFrozen(): boolean {
    return this.#time.nowMs < this.#frozenUntilMs;
  }

  monotonicMs(): number {
    return 1_000 + this.#time.nowMs * this.#clocks.rate;
  }

  #wallMs(): number {
    return START_MS + this.monotonicMs() + this.#clocks.aheadMs + this.#stepMs;
  }

  /** Somebody set its wall clock. */
  step(ms: number): void {
    this.#stepMs += ms;
    this.#upset(0);
  }

  freeze(ms: number): void {
    if (this.isDead) return;
    const untilMs = this.#time.nowMs + ms;
    if (untilMs <= this.#frozenUntilMs) return;
    this.#frozenUntilMs = untilMs;
    this.#upset(ms);
    this.#time.after(ms, () => this.#thaw());
  }

  thaw(): void {
    this.#frozenUntilMs = 0;
    this.#thaw();
  }

  /** Something went wrong for it now, and goes on for so many ms. */
  inTrouble(ms: number): void {
    this.troubledUntilMs = Math.max(this.troubledUntilMs, this.#time.nowMs + ms);
  }

  #upset(ms: number): void {
    this.upsetUntilMs = Math.max(this.upsetUntilMs, this.#time.nowMs + ms);
    this.inTrouble(ms);
  }

  kill(): void {
    this.isDead = true;
  }

  /** Something reaches it after so many ms of true time: late when it is frozen, never when it is dead. */
  later(ms: number, fn: () => void): Happening {
    return this.#time.after(ms, () => this.#run(fn));
  }

  /** Now, or when it goes on; never when it is dead. */
  whenRunning(fn: () => void): void {
    this.#run(fn);
  }

  #after(delayMs: number, fn: () => void): Timer {
    let isCancelled = false;
    const happening = this.later(delayMs / this.#clocks.rate, () => {
      if (!isCancelled) fn();
    });
    return {
      cancel: () => {
        isCancelled = true;
        happening.isDropped = true;
      },
    };
  }

  #run(fn: () => void): void {
    if (this.isDead) return;
    if (this.isFrozen) this.#late.push(fn);
    else fn();
  }

  #thaw(): void {
    if (this.isFrozen || this.isDead) return;
    for (const fn of this.#late.splice(0)) this.later(0, fn);
  }
}

/** When the virtual world begins, ms since 1970. */
export const START_MS: number = Date.UTC(2026, 0, 1);
