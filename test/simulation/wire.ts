import { StoreBusyError, UnknownOutcomeError } from "../../src/errors.ts";
import type { Chance } from "./chance.ts";
import type { Faults } from "./faults.ts";
import type { SimProcess } from "./sim-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** What a call comes to: `value` or `error` as the server gave it. */
type Answer<T> = { readonly value: T } | { readonly error: unknown };

/** What is counted of all wires. */
export interface WireCounts {
  unknown: number;
  lostRequests: number;
  lostReplies: number;
  duplicates: number;
}

/**
 * Between a process and a server. A request leaves when the process runs, arrives some time later or never, maybe twice;
 * the reply comes back likewise. Whoever made the call gives up at its deadline, and what is on its way arrives all the
 * same: that is the window which fencing is about.
 */
export class Wire {
  readonly #process: SimProcess;
  readonly #time: VirtualTime;
  readonly #chance: Chance;
  readonly #faults: Faults;
  readonly #counts: WireCounts;

  constructor(process: SimProcess, time: VirtualTime, chance: Chance, faults: Faults, counts: WireCounts) {
    this.#process = process;
    this.#time = time;
    this.#chance = chance;
    this.#faults = faults;
    this.#counts = counts;
  }

  /** @param serve called when the request arrives, once for each copy of it */
  call<T>(method: string, timeoutMs: number, serve: () => Promise<T>): Promise<T> {
    const { timers } = this.#process.world;
    return new Promise<T>((resolve, reject) => {
      let isOver = false;
      const deadline = timers.after(timeoutMs, () => {
        isOver = true;
        this.#counts.unknown++;
        this.#process.inTrouble(0);
        reject(new UnknownOutcomeError(method, new Error("no answer")));
      });
      const answered = (answer: Answer<T>): void => {
        if (isOver) return;
        isOver = true;
        deadline.cancel();
        if ("value" in answer) {
          resolve(answer.value);
          return;
        }
        this.#process.inTrouble(0);
        if (answer.error instanceof UnknownOutcomeError) this.#counts.unknown++;
        reject(answer.error);
      };
      // Frozen since this turn began, it sends when it goes on.
      this.#process.whenRunning(() => this.#send(method, serve, answered));
    });
  }

  #send<T>(method: string, serve: () => Promise<T>, answered: (answer: Answer<T>) => void): void {
    const chance = this.#chance;
    const faults = this.#faults;
    if (faults.strikes("busy", chance)) {
      const error = new StoreBusyError(method, 1);
      this.#process.later(faults.delayMs(chance), () => answered({ error }));
      return;
    }
    if (faults.strikes("lose request", chance)) {
      this.#counts.lostRequests++;
      this.#process.inTrouble(0);
      return;
    }
    const copies = faults.strikes("duplicate", chance) ? 2 : 1;
    if (copies > 1) this.#counts.duplicates++;
    for (let copy = 0; copy < copies; copy++) {
      this.#time.after(this.#delayMs(), () => {
        void serve().then(
          (value) => this.#reply({ value }, answered),
          (error: unknown) => this.#reply({ error }, answered),
        );
      });
    }
  }

  #reply<T>(answer: Answer<T>, answered: (answer: Answer<T>) => void): void {
    if (this.#faults.strikes("lose reply", this.#chance)) {
      this.#counts.lostReplies++;
      this.#process.inTrouble(0);
      return;
    }
    this.#process.later(this.#delayMs(), () => answered(answer));
  }

  #delayMs(): number {
    const ms = this.#faults.delayMs(this.#chance);
    if (ms > 45) this.#process.inTrouble(ms);
    return ms;
  }
}
