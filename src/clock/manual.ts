import { v7 } from "uuid";
import { type JobId, jobId, type Owner, owner } from "../protocol/identity.ts";
import { seededNumbers } from "./seeded.ts";
import { sleepBy } from "./sleep.ts";
import type { FaultPoint, Timer, TimerOptions, Timers, World } from "./world.ts";

export interface ManualWorldOptions {
  /** Decides every random number and id. Default 1. */
  readonly seed?: number;
  /** Where the wall clock starts, ms since 1970. Default 2026-01-01T00:00:00Z. */
  readonly wallMs?: number;
  /** Where the monotonic clock starts, ms. Default 1,000. */
  readonly monotonicMs?: number;
}

/**
 * A world that stands still until it is moved by hand. The two clocks move together with `advance`, or each alone;
 * timers fire only inside `advance`, in the order in which they are due, and after each the promises and turns that
 * it set off run to their end. Same seed and same calls: same story.
 */
export interface ManualWorld extends World {
  /** Lets `ms` pass on both clocks and runs what falls due on the way. Resolves when all is quiet again. */
  advance(ms: number): Promise<void>;
  /** Lets nothing pass, only runs what is ready to run now. */
  settle(): Promise<void>;
  /** Steps the wall clock alone, either way: somebody set it, or (forward) the machine slept with its other clock. */
  stepWall(ms: number): void;
  /** Steps the monotonic clock alone, forward only. */
  stepMonotonic(ms: number): void;
  /** Lets `ms` pass on both clocks within this turn, as code does that never yields: no timer fires meanwhile. */
  block(ms: number): void;
  /** From now on no timer and no turn runs, though time passes: the process is stopped. */
  freeze(): void;
  /** What fell due while frozen runs at the next `advance` or `settle`, late. */
  thaw(): void;
  /** Calls `fn` whenever the code under test reaches `point`; returns how to stop that. */
  at(point: FaultPoint, fn: () => void): () => void;
  /** How many timers are pending: a test of leaks asks this. */
  readonly pendingTimers: number;
}

/** Whoever needs more turns than this at one instant never comes to rest. */
const MOST_TURNS = 10_000;

interface PendingTimer {
  readonly dueMs: number;
  readonly order: number;
  readonly fn: () => void;
}

export function manualWorld(options: ManualWorldOptions = {}): ManualWorld {
  const {
    seed = 1,
    wallMs: wallStartMs = Date.UTC(2026, 0, 1),
    monotonicMs: monotonicStartMs = 1_000,
  } = options;
  const timers = new Set<PendingTimer>();
  const faults = new Map<FaultPoint, Set<() => void>>();
  const random = seededNumbers(seed);
  let wallMs = wallStartMs;
  let monotonicMs = monotonicStartMs;
  let order = 0;
  let frozen = false;
  const turns: (() => void)[] = [];

  const pass = (ms: number): void => {
    wallMs += ms;
    monotonicMs += ms;
  };
  /** One real turn for each, so that promises run between them as they do in the system's. */
  const runTurn = (): void => {
    if (!frozen) turns.shift()?.();
  };
  const settle = async (): Promise<void> => {
    let count = 0;
    do {
      if (count++ === MOST_TURNS) throw new Error(`Still busy after ${MOST_TURNS} turns: something spins.`);
      await realTurn();
    } while (turns.length > 0 && !frozen);
  };
  const firstDue = (untilMs: number): PendingTimer | undefined => {
    let first: PendingTimer | undefined;
    for (const timer of timers) {
      if (timer.dueMs > untilMs) continue;
      if (
        first === undefined ||
        timer.dueMs < first.dueMs ||
        (timer.dueMs === first.dueMs && timer.order < first.order)
      ) {
        first = timer;
      }
    }
    return first;
  };

  const manualTimers: Timers = {
    after(delayMs: number, fn: () => void, _options?: TimerOptions): Timer {
      if (!(delayMs >= 0 && Number.isFinite(delayMs)))
        throw new RangeError(`A timer cannot wait for ${delayMs} ms.`);
      const timer: PendingTimer = { dueMs: monotonicMs + delayMs, order: order++, fn };
      timers.add(timer);
      return { cancel: () => void timers.delete(timer) };
    },
    nextTurn(fn: () => void): void {
      turns.push(fn);
      setImmediate(runTurn);
    },
    sleep: sleepBy((delayMs, fn) => manualTimers.after(delayMs, fn)),
  };

  return {
    clock: { monotonicMs: () => monotonicMs, wallMs: () => wallMs },
    timers: manualTimers,
    random: { next: random },
    ids: {
      jobId: (): JobId => jobId(v7({ msecs: wallMs, random: bytes(random, 16) })),
      owner: (): Owner => owner(Buffer.from(bytes(random, 12)).toString("base64url")),
    },
    reached(point: FaultPoint): void {
      for (const fn of [...(faults.get(point) ?? [])]) fn();
    },

    async advance(ms: number): Promise<void> {
      await settle();
      const untilMs = monotonicMs + ms;
      for (let timer = firstDue(untilMs); timer !== undefined && !frozen; timer = firstDue(untilMs)) {
        pass(Math.max(0, timer.dueMs - monotonicMs));
        timers.delete(timer);
        timer.fn();
        await settle();
      }
      pass(Math.max(0, untilMs - monotonicMs));
      await settle();
    },
    settle,
    stepWall(ms: number): void {
      wallMs += ms;
    },
    stepMonotonic(ms: number): void {
      if (ms < 0) throw new RangeError("The monotonic clock never goes back.");
      monotonicMs += ms;
    },
    block: pass,
    freeze(): void {
      frozen = true;
    },
    thaw(): void {
      frozen = false;
      for (const _ of turns) setImmediate(runTurn);
    },
    at(point: FaultPoint, fn: () => void): () => void {
      const fns = faults.get(point) ?? new Set();
      faults.set(point, fns.add(fn));
      return () => void fns.delete(fn);
    },
    get pendingTimers(): number {
      return timers.size;
    },
  };
}

/** One turn of the real event loop: every promise that could go on has gone on after it. */
function realTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function bytes(random: () => number, count: number): Uint8Array {
  return Uint8Array.from({ length: count }, () => Math.floor(random() * 256));
}
