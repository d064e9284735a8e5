import { setTimeout as sleep } from "node:timers/promises";
import type { Chance } from "../../simulation/chance.ts";
import type { Member } from "./member.ts";
import type { HistoryFile } from "./processes/history-file.js";
import type { HistoryEvent } from "./record.ts";
import type { Tail } from "./tail.ts";
import type { Workload } from "./workload.ts";

/** What nemeses have their hands on. */
export class Controller {
  readonly members: readonly Member[];
  readonly workload: Workload;
  readonly leaseMs: number;
  /** Where the destinations `http` and `blind` are. */
  readonly destinationPort: number;
  readonly #history: HistoryFile;
  readonly #tail: Tail;
  readonly #healing = new AbortController();

  constructor(
    members: readonly Member[],
    workload: Workload,
    leaseMs: number,
    destinationPort: number,
    history: HistoryFile,
    tail: Tail,
  ) {
    this.#tail = tail;
    this.members = members;
    this.workload = workload;
    this.leaseMs = leaseMs;
    this.destinationPort = destinationPort;
    this.#history = history;
  }

  /** Fires when the faults are over. */
  get healing(): AbortSignal {
    return this.#healing.signal;
  }

  heal(): void {
    this.#healing.abort();
  }

  /** Takes `ms`, or less when the faults are over. */
  async lasts(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.healing }).catch(() => {});
  }

  /** Until something happens, for `ms` at most and no longer than the faults. */
  async until(fits: (event: HistoryEvent) => boolean, ms: number): Promise<void> {
    const over = new AbortController();
    const end = (): void => over.abort();
    // Not `AbortSignal.any` with a timeout: on Node 20 that may never fire.
    const timer = setTimeout(end, ms);
    this.healing.addEventListener("abort", end, { once: true });
    if (this.healing.aborted) end();
    await this.#tail.sees(fits, over.signal);
    clearTimeout(timer);
    this.healing.removeEventListener("abort", end);
  }

  /** A worker that runs and that nobody else has in hand; one of all is always left alone. */
  take(chance: Chance): Member | undefined {
    const free = this.members.filter(({ isTaken, isRunning }) => !isTaken && isRunning);
    if (free.length < 2) return undefined;
    const member = chance.of(free);
    member.isTaken = true;
    return member;
  }

  release(member: Member): void {
    member.isTaken = false;
  }

  nextRequest(): number {
    return this.#history.nextRequest();
  }

  /** What goes wrong from now on. Whoever strikes itself has written that down, and only its end is to be told. */
  began(op: string, target: string, detail: Readonly<Record<string, unknown>> = {}): number {
    const request = this.nextRequest();
    this.#history.append({ kind: "invoke", op, request, target, detail });
    return request;
  }

  ended(op: string, request: number, target: string, detail: Readonly<Record<string, unknown>> = {}): void {
    this.#history.append({ kind: "ok", op, request, target, detail });
  }

  note(op: string, rest: { readonly target?: string; readonly detail?: Record<string, unknown> } = {}): void {
    this.#history.note(op, rest);
  }
}
