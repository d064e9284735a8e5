import type { World } from "../../clock/world.ts";
import type { Listener } from "../store.ts";

/** After one notification the next goes out no sooner than this, ms: one tells of all that came meanwhile. */
const NOTIFY_EVERY_MS = 10;
/**
 * Only after so long a silence may a commit that makes jobs due notify by itself, ms. That wakes others soonest, but NOTIFY
 * holds a lock of the whole server until the commit has reached the disk: not for those who commit one after the other.
 */
const QUIET_MS = 15;

interface Hearing {
  close(): Promise<void>;
}

export interface BellOptions {
  readonly world: World;
  /** Tells other processes. */
  readonly notify: () => Promise<void>;
  /** Begins to hear what others tell; the answer ends it. */
  readonly listen: (onWake: () => void) => Hearing | undefined;
}

interface Sleeper {
  readonly onWake: () => void;
  armed: boolean;
}

/** Wakes whoever sleeps: here at once, in other processes by NOTIFY. A hint; polling is what must be right. */
export class Bell {
  readonly #options: BellOptions;
  readonly #sleepers = new Set<Sleeper>();
  #channel: Hearing | undefined;
  /** The ends of those channels that nobody needed any more. */
  #ended: Promise<unknown> = Promise.resolve();
  #notifying = false;
  #again = false;
  #closed = false;
  #rungMs = Number.NEGATIVE_INFINITY;

  constructor(options: BellOptions) {
    this.#options = options;
  }

  /** Whether the commit that is about to be made is to notify by itself. */
  tellsWithCommit(): boolean {
    const nowMs = this.#options.world.clock.monotonicMs();
    const isQuiet = !this.#notifying && nowMs - this.#rungMs >= QUIET_MS;
    this.#rungMs = nowMs;
    return isQuiet;
  }

  /** To be called after the commit that made something due. @param isTold it has notified by itself */
  ring(isTold: boolean): void {
    if (this.#closed) return;
    this.#wakeAll();
    this.#rungMs = this.#options.world.clock.monotonicMs();
    if (isTold) return;
    if (this.#notifying) this.#again = true;
    else void this.#notify();
  }

  listen(onWake: () => void): Listener {
    const sleeper: Sleeper = { onWake, armed: false };
    this.#sleepers.add(sleeper);
    this.#channel ??= this.#options.listen(() => this.#wakeAll());
    return {
      arm: () => {
        sleeper.armed = true;
      },
      close: () => {
        this.#sleepers.delete(sleeper);
        if (this.#sleepers.size === 0) void this.#deafen();
      },
    };
  }

  /** Resolves when no connection of its own is left. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#sleepers.clear();
    await this.#deafen();
  }

  #deafen(): Promise<unknown> {
    this.#ended = Promise.all([this.#ended, this.#channel?.close()]);
    this.#channel = undefined;
    return this.#ended;
  }

  async #notify(): Promise<void> {
    this.#notifying = true;
    do {
      this.#again = false;
      await this.#options.notify().catch(() => {}); // what was committed stays committed
      await this.#options.world.timers.sleep(NOTIFY_EVERY_MS);
    } while (this.#again && !this.#closed);
    this.#notifying = false;
  }

  #wakeAll(): void {
    for (const sleeper of this.#sleepers) {
      if (!sleeper.armed) continue;
      sleeper.armed = false;
      queueMicrotask(sleeper.onWake);
    }
  }
}
