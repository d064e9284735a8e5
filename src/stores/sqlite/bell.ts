import type { Random, Timers } from "../../clock/world.ts";
import { type Answer, type Due, Sleepers } from "../sleepers.ts";
import type { ClaimRequest, Listener, Taker } from "../store.ts";
import { WakeFile } from "./wake-file.ts";

/**
 * Wakes whoever sleeps: here at once, in other processes by the wake file. What those who sleep here have room for is told to
 * nobody else, unless they do not come for it. A hint; polling is what must be right.
 */
export class Bell {
  readonly #file: WakeFile | undefined;
  readonly #sleepers: Sleepers;

  /** Without a path (a database in memory) there is nobody elsewhere to be woken. */
  constructor(path: string | undefined, timers: Timers, random: Random) {
    this.#sleepers = new Sleepers(timers);
    if (path === undefined) return;
    this.#file = orNothing(() => new WakeFile(path, timers, random, () => this.#sleepers.wakeAll()));
  }

  /** To be called after the commit that made something due. */
  ring(due: Due): void {
    if (due === "anything") {
      this.#sleepers.wakeAll();
      this.#tell();
      return;
    }
    for (const [queue, jobs] of due) {
      const isOurs = this.#sleepers.roomFor(queue) >= jobs;
      this.#sleepers.ring(queue, jobs, (end) => {
        if (isOurs && end === "left over") this.#tell();
      });
      if (!isOurs) this.#tell();
    }
  }

  /** To be called before a claim is made; what it returns, with what the claim has found. */
  asks(request: ClaimRequest): Answer {
    return this.#sleepers.asks(request);
  }

  listen(onWake: () => void, taker: Taker | undefined): Listener {
    const listener = this.#sleepers.listen(onWake, taker);
    orNothing(() => this.#file?.watch());
    return {
      arm: () => {
        listener.arm();
        orNothing(() => this.#file?.noteSleeper());
      },
      close: () => {
        listener.close();
        if (this.#sleepers.size === 0) this.#file?.unwatch();
      },
    };
  }

  close(): void {
    this.#sleepers.clear();
    this.#file?.close();
  }

  #tell(): void {
    orNothing(() => this.#file?.ring());
  }
}

/** What was committed stays committed: a wake file that cannot be had or written leaves polling, and fails nobody. */
function orNothing<T>(use: () => T): T | undefined {
  try {
    return use();
  } catch {
    return undefined;
  }
}
