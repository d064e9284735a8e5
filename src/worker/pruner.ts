import type { Log } from "../client/log.ts";
import type { Timer, World } from "../clock/world.ts";
import type { Store } from "../stores/store.ts";

/** For how long ended jobs are kept, ms of the store's clock. */
export interface Retention {
  readonly completedMs: number;
  readonly failedMs: number;
}

const EVERY_MS = 60_000;
const JOBS_PER_CALL = 500;
const CALLS_PER_ROUND = 20;

/**
 * Removes ended jobs that are older than they need be kept, in small pieces between other work (C14). Every worker does
 * it, at its own random moment; the pieces of two never hurt each other.
 */
export class Pruner {
  readonly #world: World;
  readonly #store: Store;
  readonly #log: Log;
  readonly #retention: Retention;
  readonly #timeoutMs: number;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(world: World, store: Store, log: Log, retention: Retention, timeoutMs: number) {
    this.#world = world;
    this.#store = store;
    this.#log = log;
    this.#retention = retention;
    this.#timeoutMs = timeoutMs;
  }

  start(): void {
    if (this.#stopped) return;
    const inMs = EVERY_MS * (0.5 + this.#world.random.next());
    this.#timer = this.#world.timers.after(inMs, () => void this.#round(), { background: true });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  async #round(): Promise<void> {
    try {
      for (let calls = 0; calls < CALLS_PER_ROUND && !this.#stopped; calls++) {
        const pruned = await this.#store.prune(this.#retention, JOBS_PER_CALL, {
          timeoutMs: this.#timeoutMs,
        });
        // Fewer than asked for may also be jobs with very many steps.
        if (pruned === 0) break;
        await new Promise<void>((resolve) => this.#world.timers.nextTurn(resolve));
      }
    } catch (error) {
      this.#log({
        level: "warning",
        kind: "prune_failed",
        message: "removing old jobs failed; trying again later",
        error,
      });
    }
    this.start();
  }
}
