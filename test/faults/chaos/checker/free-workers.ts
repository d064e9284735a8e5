/** Who had room for a lapsed job, and was there to take it over. */

import { CONCURRENCY } from "../settings.ts";
import type { Call } from "./calls.ts";
import type { Delays } from "./delays.ts";
import { type Evidence, groupBy } from "./evidence.ts";
import { type Fault, felt, overlaps, strikes } from "./faults.ts";
import type { Run } from "./runs.ts";

/** It was answered, took lapsed jobs as well, and would have taken one more. */
function hadRoomLeft({ invoke, replies }: Call): boolean {
  const { limit = Number.POSITIVE_INFINITY, takeover } = invoke.detail ?? {};
  const isAnswered = replies.every(({ kind }) => kind === "ok");
  return (
    isAnswered && takeover !== false && replies.filter(({ job }) => job !== undefined).length < Number(limit)
  );
}

/** It has taken a lapsed job over, or ended one: a worker does so for one at a time (W8), and others wait for their turn. */
function tookOneOver({ replies }: Call): boolean {
  return replies.some(({ detail }) => {
    const ended = detail?.["ended"];
    return detail?.["previous"] !== undefined || (Array.isArray(ended) && ended.length > 0);
  });
}

/** Who could not be reached, or could not reach anybody, and for how long that was felt. */
export function outOfTouchIn(faults: readonly Fault[]): Fault[] {
  return faults.filter(({ kind }) => kind === "partition" || kind === "freeze").map(felt);
}

export class FreeWorkers {
  readonly #delays: Delays;
  readonly #asksMs: number;
  readonly #stops: readonly Fault[];
  readonly #outOfTouch: readonly Fault[];
  readonly #withRoom: readonly Call[];
  readonly #takeOvers: readonly Call[];
  readonly #unanswered: readonly Call[];
  readonly #runs: ReadonlyMap<string, readonly Run[]>;

  constructor({ record, faults, runs, callsByOp }: Evidence, delays: Delays) {
    const claims = callsByOp.get("claim") ?? [];
    this.#delays = delays;
    this.#asksMs = record.pollMs + record.sweepMs;
    this.#stops = faults.filter(({ kind }) => kind === "stop");
    this.#outOfTouch = outOfTouchIn(faults);
    this.#withRoom = claims.filter(hadRoomLeft);
    this.#takeOvers = claims.filter(tookOneOver);
    this.#unanswered = claims.filter(({ replies }) => replies.every(({ kind }) => kind !== "ok"));
    this.#runs = groupBy(runs, ({ process }) => process);
  }

  /**
   * Who gets fewer than it asks for has a place left (W1). Without anybody who asks so in time, and goes on, nobody had.
   *
   * @param afterMs when it was taken over, counted from its lapse
   * @param boundMs when it was to be
   * @returns processes, one once for each time it asked
   */
  freeFor(job: string, lapsedMs: number, afterMs: number, boundMs: number): string[] {
    const toMs = lapsedMs + Math.min(afterMs, boundMs);
    return this.#withRoom
      .map(({ invoke }) => invoke)
      .filter(
        ({ process, atMs }) =>
          atMs >= lapsedMs &&
          atMs <= lapsedMs + this.#asksMs &&
          !this.#delays.stood(process, atMs, lapsedMs + boundMs) &&
          !this.#isAway(process, lapsedMs, toMs) &&
          !this.#isTakingOver(process, job, lapsedMs, toMs) &&
          !this.#wasFull(process, lapsedMs, toMs),
      )
      .map(({ process }) => process);
  }

  /** Told to stop, cut off, or without an answer of the store. */
  #isAway(process: string, fromMs: number, toMs: number): boolean {
    return (
      this.#stops.some((fault) => strikes(fault, process) && overlaps(fault, fromMs, toMs)) ||
      this.#outOfTouch.some((fault) => fault.target === process && overlaps(fault, fromMs, toMs)) ||
      this.#unanswered.some(({ invoke, replies }) => {
        const untilMs = Math.max(...replies.map(({ atMs }) => atMs), invoke.atMs);
        return invoke.process === process && invoke.atMs <= toMs && untilMs >= fromMs;
      })
    );
  }

  /** Busy with other lapsed jobs than this one. */
  #isTakingOver(process: string, job: string, fromMs: number, toMs: number): boolean {
    return this.#takeOvers.some(
      ({ invoke, replies }) =>
        invoke.process === process &&
        invoke.atMs >= fromMs &&
        invoke.atMs <= toMs &&
        replies.every((reply) => reply.job !== job),
    );
  }

  /** At some moment between the two times all of its places were taken. */
  #wasFull(process: string, fromMs: number, toMs: number): boolean {
    const runs = this.#runs.get(process) ?? [];
    const meanwhile = runs.filter((run) => run.beganMs <= toMs && run.endedMs >= fromMs);
    return meanwhile.some(
      ({ beganMs }) =>
        meanwhile.filter((run) => run.beganMs <= beganMs && run.endedMs > beganMs).length >= CONCURRENCY,
    );
  }
}
