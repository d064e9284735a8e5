import type { Timer, World } from "../../clock/world.ts";
import { type Instant, trustState } from "../../protocol/trust.ts";
import { instant } from "../held-lease.ts";
import type { Deadline } from "./messages.ts";
import type { TrustCell } from "./trust-cell.ts";

/** The wall clock may step meanwhile, so a long wait is looked at again. */
const LONGEST_WAIT_MS = 1_000;

/**
 * Ends its process when a run's lease has ended, by this process's own clocks, and the grace is over too (W4): then the
 * worker, which would have done so before, is paused, hung or cut off, and cannot. A worker that is there terminates at the end
 * of trust plus the grace; the margin between the two leaves it the first move.
 */
export class Watchdog {
  readonly #world: World;
  readonly #cell: TrustCell;
  readonly #kill: () => void;
  #deadline: Deadline | undefined;
  #timer: Timer | undefined;

  constructor(world: World, cell: TrustCell, kill: () => void) {
    this.#world = world;
    this.#cell = cell;
    this.#kill = kill;
  }

  /** A run begins, or its lease was renewed; undefined: none runs. */
  set(deadline: Deadline | undefined): void {
    this.#deadline = deadline;
    if (deadline !== undefined) this.#cell.report(deadline.run, deadline.sent);
    this.#look();
  }

  #look(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const deadline = this.#deadline;
    if (deadline === undefined || this.#cell.hasEnded(deadline.run)) return;
    const leftMs = lifeLeftMs(deadline, instant(this.#world.clock));
    if (leftMs <= 0) this.#kill();
    else this.#timer = this.#world.timers.after(Math.min(leftMs, LONGEST_WAIT_MS), () => this.#look());
  }
}

/** How long a run's process may live. While the clocks disagree the monotonic one alone counts (T3). */
export function lifeLeftMs(deadline: Deadline, now: Instant): number {
  const { sent, leaseMs, graceMs } = deadline;
  const lifeMs = leaseMs + graceMs;
  const monotonicLeftMs = lifeMs - (now.monotonicMs - sent.monotonicMs);
  if (trustState(deadline, now) === "unknown") return monotonicLeftMs;
  return Math.min(monotonicLeftMs, lifeMs - (now.wallMs - sent.wallMs));
}
