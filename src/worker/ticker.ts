import type { Timer, World } from "../clock/world.ts";
import type { Instant } from "../protocol/trust.ts";
import { instant } from "./held-lease.ts";

/** How often deadlines are looked at: trust that ends is acted upon within this and the loop's own delay. */
export const TICK_MS = 40;

/**
 * One timer for all deadlines of all leases, instead of one for each. It runs only while there is something to look
 * at, and does not keep the process alive.
 */
export class Ticker {
  readonly #world: World;
  readonly #tick: (now: Instant) => boolean;
  #timer: Timer | undefined;

  /** `tick` answers whether to go on. */
  constructor(world: World, tick: (now: Instant) => boolean) {
    this.#world = world;
    this.#tick = tick;
  }

  start(): void {
    this.#timer ??= this.#world.timers.after(TICK_MS, this.#fire, { background: true });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  readonly #fire = (): void => {
    this.#timer = undefined;
    if (this.#tick(instant(this.#world.clock))) this.start();
  };
}
