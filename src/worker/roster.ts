import type { Run } from "./run.ts";
import { StartRate } from "./start-rate.ts";

const MAX_AHEAD = 500;

/**
 * Who runs and who waits. A run holds its place until its handler ends; claimed jobs without a place wait, in the order
 * of their claim. A suspect (W8) that cannot be isolated runs alone: those that wait are given back, those that run finish,
 * nothing else starts; and it does not begin before the store has answered for all of them, or its crash would take their
 * ends with it, and each would have lapsed once more.
 */
export class Roster {
  readonly #concurrency: number;
  readonly #rate = new StartRate();
  readonly #running: Run[] = [];
  /** Those before `#next` have been started. */
  #waiting: Run[] = [];
  #next = 0;
  #alone: Run | undefined;
  #stopped = false;
  /** Places kept for a claim that is under way. */
  reserved = 0;
  /** When the clock was last looked at, ms: exact enough for what is counted here. */
  nowMs = 0;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  get running(): readonly Run[] {
    return this.#running;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.length - this.#next;
  }

  get free(): number {
    return Math.max(0, this.#concurrency - this.#running.length - this.reserved);
  }

  /** Places for jobs that nobody has claimed yet; a claim that is under way may bring none. */
  get room(): number {
    return Math.max(0, this.#concurrency - this.#running.length - this.waiting);
  }

  /** Whether a suspect runs or waits to. */
  get isAlone(): boolean {
    return this.#alone !== undefined;
  }

  /** W1: how many may be claimed beyond the free places. */
  get ahead(): number {
    return Math.min(this.#rate.recent(this.nowMs), MAX_AHEAD);
  }

  /** Takes in what a claim brought; a lapsed one starts before those that wait (W8). */
  admit(runs: readonly Run[]): void {
    this.#forgetStarted();
    for (const run of runs) {
      if (run.runsAlone && this.#alone === undefined) this.#alone = run;
      else if (run.claimed.previous !== undefined) this.#waiting.unshift(run);
      else this.#waiting.push(run);
    }
    if (this.#alone !== undefined) this.releaseWaiting("makes_room");
  }

  /**
   * Starts what may start.
   *
   * @param keep so many places are left free for a claim that is about to be made
   * @param live how many runs have an end that the store has yet to hear of, or have not come to one
   */
  start(keep: number, nowMs: number, live: number): void {
    if (this.#stopped) return;
    this.nowMs = nowMs;
    if (this.#alone !== undefined) {
      const isLeft = live === this.#running.length + 1 && this.#running.every((run) => run.stuck);
      if (this.#alone.phase === "waiting" && isLeft) this.#start(this.#alone, nowMs);
      return;
    }
    while (this.#next < this.#waiting.length && this.free > keep) {
      const run = this.#waiting[this.#next++] as Run;
      if (run.phase === "waiting") this.#start(run, nowMs);
    }
    if (this.#next === this.#waiting.length) this.#forgetStarted();
  }

  /** The handler has ended: its place is free. */
  ended(run: Run): void {
    const { place } = run;
    if (place < 0) return;
    run.place = -1;
    const last = this.#running.pop() as Run;
    if (last !== run) {
      this.#running[place] = last;
      last.place = place;
    }
    if (this.#alone === run) this.#alone = undefined;
  }

  /** A run that never began was lost or given back. */
  leave(run: Run): void {
    if (this.#alone === run && run.place < 0) this.#alone = undefined;
    this.#forgetStarted();
    if (this.#waiting.length > 0) this.#waiting = this.#waiting.filter((other) => other !== run);
  }

  releaseWaiting(why: "makes_room" | "stopping"): void {
    this.#forgetStarted();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const run of waiting) if (run.phase === "waiting") run.release(why);
  }

  /** Nothing starts any more; what has not begun is given back. */
  stop(): void {
    this.#stopped = true;
    this.releaseWaiting("stopping");
    if (this.#alone?.phase === "waiting") this.#alone.release("stopping");
  }

  /** Once for each claim, rather than at each start, which would copy the rest every time. */
  #forgetStarted(): void {
    if (this.#next === 0) return;
    this.#waiting = this.#waiting.slice(this.#next);
    this.#next = 0;
  }

  #start(run: Run, nowMs: number): void {
    if (!run.mayBegin()) {
      run.release("untrusted");
      return;
    }
    run.place = this.#running.length;
    this.#running.push(run);
    this.#rate.add(nowMs);
    void run.execute();
  }
}
