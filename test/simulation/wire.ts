import { StoreBusyError, UnknownOutcomeError } from "../../src/errors.ts";
import type { Listener, Store } from "../../src/stores/store.ts";
import type { Chance } from "./chance.ts";
import type { Faults } from "./faults.ts";
import type { SimProcess } from "./sim-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** What a call comes to: `value` or `error` as the server gave it. */
type Answer = { readonly value: unknown } | { readonly error: unknown };

/** What is counted of all wires. */
export interface WireCounts {
  unknown: number;
  lostRequests: number;
  lostReplies: number;
  duplicates: number;
}

/** Hears of each answer that reached the process, with its monotonic time when the request was made. */
export type OnAnswer = (
  process: SimProcess,
  method: string,
  args: readonly unknown[],
  value: unknown,
  sentMs: number,
) => void;

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
  readonly #onAnswer: OnAnswer | undefined;

  constructor(
    process: SimProcess,
    time: VirtualTime,
    chance: Chance,
    faults: Faults,
    counts: WireCounts,
    onAnswer?: OnAnswer,
  ) {
    this.#process = process;
    this.#time = time;
    this.#chance = chance;
    this.#faults = faults;
    this.#counts = counts;
    this.#onAnswer = onAnswer;
  }

  /** The store at the other end. */
  store(store: Store): Store {
    return new Proxy(store, {
      get: (target, property): unknown => {
        const member: unknown = Reflect.get(target, property);
        if (typeof member !== "function") return member;
        if (property === "listen") return (onWake: () => void) => this.#listen(target, onWake);
        if (property === "open" || property === "close") return async () => {};
        return (...args: unknown[]) => {
          const options = args.at(-1) as { readonly timeoutMs?: number } | undefined;
          const call = (): Promise<unknown> => Reflect.apply(member, target, args) as Promise<unknown>;
          return this.call(String(property), args, options?.timeoutMs ?? 5_000, call);
        };
      },
    });
  }

  call<T>(method: string, args: readonly unknown[], timeoutMs: number, serve: () => Promise<T>): Promise<T> {
    const { timers, clock } = this.#process.world;
    const sentMs = clock.monotonicMs();
    return new Promise<T>((resolve, reject) => {
      let isOver = false;
      const deadline = timers.after(timeoutMs, () => {
        isOver = true;
        this.#counts.unknown++;
        reject(new UnknownOutcomeError(method, new Error("no answer")));
      });
      const answered = (answer: Answer): void => {
        if (isOver) return;
        isOver = true;
        deadline.cancel();
        if ("error" in answer) {
          reject(answer.error);
          return;
        }
        this.#onAnswer?.(this.#process, method, args, answer.value, sentMs);
        resolve(answer.value as T);
      };
      this.#process.later(0, () => this.#send(method, serve, answered));
    });
  }

  #send(method: string, serve: () => Promise<unknown>, answered: (answer: Answer) => void): void {
    const chance = this.#chance;
    const faults = this.#faults;
    if (faults.strikes("busy", chance)) {
      const error = new StoreBusyError(method, 1);
      this.#process.later(faults.delayMs(chance), () => answered({ error }));
      return;
    }
    if (faults.strikes("lose request", chance)) {
      this.#counts.lostRequests++;
      return;
    }
    const copies = faults.strikes("duplicate", chance) ? 2 : 1;
    if (copies > 1) this.#counts.duplicates++;
    for (let copy = 0; copy < copies; copy++) {
      this.#time.after(faults.delayMs(chance), () => {
        void serve().then(
          (value) => this.#reply({ value }, answered),
          (error: unknown) => this.#reply({ error }, answered),
        );
      });
    }
  }

  #reply(answer: Answer, answered: (answer: Answer) => void): void {
    if (this.#faults.strikes("lose reply", this.#chance)) {
      this.#counts.lostReplies++;
      return;
    }
    const delayMs = this.#faults.delayMs(this.#chance);
    this.#time.after(delayMs, () => this.#process.later(0, () => answered(answer)));
  }

  #listen(store: Store, onWake: () => void): Listener {
    return store.listen(() => {
      if (this.#faults.strikes("lose wake-up", this.#chance)) return;
      this.#process.later(this.#faults.delayMs(this.#chance), onWake);
    });
  }
}
