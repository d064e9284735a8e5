import type { World } from "../../clock/world.ts";
import { type Answer, type Due, Sleepers } from "../sleepers.ts";
import type { ClaimRequest, Listener, Taker } from "../store.ts";
import { ringText } from "./bell-text.ts";
import { Rotas } from "./rotas.ts";

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
  /** What this process is called on the channel. */
  readonly me: string;
  /** Tells other processes. */
  readonly notify: (payload: string) => Promise<void>;
  /** Another process has made something due. */
  readonly onTold: () => void;
  /** Begins to hear the channel; the answer ends it. `undefined` when something may have been missed. */
  readonly listen: (onHeard: (payload: string | undefined) => void) => Hearing | undefined;
}

/**
 * Wakes whoever sleeps: here at once, in other processes by NOTIFY, and there by turns. What those who sleep here have room for
 * is told to nobody else, unless they do not come for it. A hint; polling is what must be right.
 */
export class Bell {
  readonly #options: BellOptions;
  readonly #sleepers: Sleepers;
  readonly #rotas: Rotas;
  readonly #onRing = new Set<() => void>();
  #channel: Hearing | undefined;
  /** The ends of those channels that nobody needed any more. */
  #ended: Promise<unknown> = Promise.resolve();
  #notifying = false;
  #untold: Map<string, number> | "anything" = new Map();
  #rings = 0;
  readonly #closing = new AbortController();
  #rungMs = Number.NEGATIVE_INFINITY;

  constructor(options: BellOptions) {
    this.#options = options;
    this.#sleepers = new Sleepers(options.world.timers);
    this.#rotas = new Rotas({ ...options, sleepers: this.#sleepers, onRing: () => this.#told() });
  }

  /** What the commit that is about to be made is to notify by itself; undefined for nothing. */
  tellsWithCommit(due: Due): string | undefined {
    const nowMs = this.#options.world.clock.monotonicMs();
    const isQuiet = !this.#notifying && nowMs - this.#rungMs >= QUIET_MS;
    this.#rungMs = nowMs;
    if (!isQuiet || (due !== "anything" && [...due].every((some) => this.#isRoomFor(some)))) return undefined;
    return this.#text(due);
  }

  /** To be called after the commit that made something due. @param isTold it has notified by itself */
  ring(due: Due, isTold: boolean): void {
    if (this.#isClosed) return;
    this.#rungMs = this.#options.world.clock.monotonicMs();
    this.#rung();
    if (due === "anything") {
      this.#sleepers.wakeAll();
      if (!isTold) this.#tell(due);
      return;
    }
    for (const [queue, jobs] of due) {
      const isOurs = !isTold && this.#isRoomFor([queue, jobs]);
      this.#sleepers.ring(queue, jobs, (end) => {
        if (isOurs && end === "left over") this.#tell(new Map([[queue, jobs]]));
      });
      if (!isTold && !isOurs) this.#tell(new Map([[queue, jobs]]));
    }
  }

  /** To be called before a claim is sent; what it returns, with what the claim has found. */
  asks(request: ClaimRequest): Answer {
    return this.#sleepers.asks(request);
  }

  /** Calls `fn` at the next ring; the answer forgets it. */
  onRing(fn: () => void): () => void {
    this.#onRing.add(fn);
    return () => this.#onRing.delete(fn);
  }

  listen(onWake: () => void, taker: Taker | undefined): Listener {
    const listener = this.#sleepers.listen(onWake, taker);
    this.#channel ??= this.#options.listen((payload) => this.#rotas.heard(payload));
    return {
      arm: () => {
        listener.arm();
        if (taker !== undefined) this.#rotas.join(taker.queues);
      },
      close: () => {
        listener.close();
        if (taker !== undefined) this.#rotas.leave(taker.queues);
        if (this.#sleepers.size === 0) void this.#deafen();
      },
    };
  }

  /** Resolves when no connection of its own is left. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#sleepers.clear();
    this.#rotas.close();
    await this.#deafen();
  }

  #isRoomFor([queue, jobs]: readonly [string, number]): boolean {
    return this.#sleepers.roomFor(queue) >= jobs;
  }

  #told(): void {
    this.#options.onTold();
    this.#rung();
  }

  #rung(): void {
    for (const fn of this.#onRing) fn();
    this.#onRing.clear();
  }

  #deafen(): Promise<unknown> {
    this.#ended = Promise.all([this.#ended, this.#channel?.close()]);
    this.#channel = undefined;
    return this.#ended;
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  get #hasUntold(): boolean {
    return this.#untold === "anything" || this.#untold.size > 0;
  }

  #text(due: Due): string {
    return ringText(this.#options.me, this.#rings++, due);
  }

  #tell(due: Due): void {
    if (due === "anything") this.#untold = due;
    else if (this.#untold !== "anything")
      for (const [queue, jobs] of due) this.#untold.set(queue, (this.#untold.get(queue) ?? 0) + jobs);
    if (!this.#notifying && !this.#isClosed) void this.#notify();
  }

  async #notify(): Promise<void> {
    this.#notifying = true;
    do {
      const due = this.#untold;
      this.#untold = new Map();
      await this.#options.notify(this.#text(due)).catch(() => {}); // what was committed stays committed
      await this.#options.world.timers.sleep(NOTIFY_EVERY_MS, this.#closing.signal);
    } while (this.#hasUntold && !this.#isClosed);
    this.#notifying = false;
  }
}
