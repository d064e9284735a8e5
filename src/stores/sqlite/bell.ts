import type { Random, Timers } from "../../clock/world.ts";
import type { Listener } from "../store.ts";
import { WakeFile } from "./wake-file.ts";

/** Wakes whoever sleeps: here at once, in other processes by the wake file. A hint; polling is what must be right. */
export class Bell {
  readonly #file: WakeFile | undefined;
  readonly #sleepers = new Set<Sleeper>();

  /** Without a path (a database in memory) there is nobody elsewhere to be woken. */
  constructor(path: string | undefined, timers: Timers, random: Random) {
    if (path === undefined) return;
    this.#file = orNothing(() => new WakeFile(path, timers, random, () => this.#wakeAll()));
  }

  /** To be called after the commit that made something due. */
  ring(): void {
    this.#wakeAll();
    orNothing(() => this.#file?.ring());
  }

  listen(onWake: () => void): Listener {
    const sleeper: Sleeper = { onWake, armed: false };
    this.#sleepers.add(sleeper);
    orNothing(() => this.#file?.watch());
    return {
      arm: () => {
        sleeper.armed = true;
        orNothing(() => this.#file?.noteSleeper());
      },
      close: () => {
        this.#sleepers.delete(sleeper);
        if (this.#sleepers.size === 0) this.#file?.unwatch();
      },
    };
  }

  close(): void {
    this.#sleepers.clear();
    this.#file?.close();
  }

  #wakeAll(): void {
    for (const sleeper of this.#sleepers) {
      if (!sleeper.armed) continue;
      sleeper.armed = false;
      queueMicrotask(sleeper.onWake);
    }
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

interface Sleeper {
  readonly onWake: () => void;
  armed: boolean;
}
