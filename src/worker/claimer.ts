import type { Timer, World } from "../clock/world.ts";
import type { Owner } from "../protocol/identity.ts";
import type { Instant } from "../protocol/trust.ts";
import type { Claimed, Listener, Store } from "../stores/store.ts";
import type { StoreContact } from "./contact.ts";
import { instant } from "./held-lease.ts";
import type { Roster } from "./roster.ts";

const LONGEST_POLL_MS = 2_000;
/** C15: a lapsed job is overtaken for no longer than 250 ms by what is ready. */
const TAKEOVER_EVERY_MS = 200;

export interface ClaimerOptions {
  readonly owner: Owner;
  readonly queues: readonly string[];
  /** The first wait when nothing is due; it grows to 2 s. */
  readonly pollMs: number;
  readonly callTimeoutMs: number;
}

export interface ClaimerHost {
  /** May more be claimed just now? False while too many outcomes are unconfirmed. */
  mayClaim(): boolean;
  claimed(reply: Claimed, sent: Instant): void;
  /** No claim is to come just now: what waits may have the places that were kept for one. */
  noneComes(): void;
  /** Nothing is due. */
  idle(nextDueInMs: number | undefined): void;
  /** The store gave no answer, or an error. */
  failed(error: unknown): void;
  answered(): void;
  /** W7: after a long silence, renewals go before claims. */
  renewFirst(): Promise<void>;
}

/**
 * Asks the store for jobs: when places become free, when somebody rings, and by polling, which is what correctness
 * rests on. One claim is under way at a time.
 *
 * A claim that may take lapsed jobs over asks for **one**, into a place that is free; whatever asks for more takes ready
 * jobs only. So a job that lapsed never waits in a prefetch, and of a dead worker's jobs no two suspects are held at
 * once (W8). A busy worker makes such a claim every 200 ms; one that finds nothing ready makes it next.
 */
export class Claimer {
  readonly #world: World;
  readonly #store: Store;
  readonly #roster: Roster;
  readonly #contact: StoreContact;
  readonly #host: ClaimerHost;
  readonly #options: ClaimerOptions;
  readonly #listener: Listener;
  #turn = 0;
  #scheduled = false;
  #claiming: Promise<void> | undefined;
  #stopped = false;
  #timer: Timer | undefined;
  #timerAtMs = 0;
  /** `idle`: nothing was due at the last look, before which the listener was armed. `backOff`: the store failed. */
  #rest: "idle" | "backOff" | undefined;
  /** The listener was armed before the look that comes next or is under way, and has not rung since: it does so once. */
  #armed = false;
  /**
   * The bell has called it out of its sleep: something became ready. It asks for that alone, armed before it asks, and sleeps on
   * once it gets less than it asked for: one claim for each ring. What has lapsed is found by polling, as in all sleep.
   */
  #called = false;
  /** The last claim of ready jobs found fewer than it asked for. */
  #short = true;
  #foundSome = false;
  #lastTakeoverMs = Number.NEGATIVE_INFINITY;
  #nextDueInMs: number | undefined;
  #pollMs: number;
  #failures = 0;

  constructor(
    world: World,
    store: Store,
    roster: Roster,
    contact: StoreContact,
    host: ClaimerHost,
    options: ClaimerOptions,
  ) {
    this.#world = world;
    this.#store = store;
    this.#roster = roster;
    this.#contact = contact;
    this.#host = host;
    this.#options = options;
    this.#pollMs = options.pollMs;
    this.#listener = store.listen(() => this.#rung(), { queues: options.queues, room: () => this.#room() });
  }

  /** A place became free, or what waits became less. Asleep it changes nothing: nothing was due. */
  wanted(): void {
    if (this.#rest === undefined) this.#schedule();
  }

  /** Something may have become due. */
  poke(): void {
    if (this.#stopped) return;
    this.#armed = false;
    this.#pollMs = this.#options.pollMs;
    // While the store is out of reach the back-off decides, not the bell.
    if (this.#rest === "backOff") return;
    this.#called = false;
    this.#wake();
    this.#schedule();
  }

  /** The bell rings once for each arming. What was asked for before it rang may have missed what it rings for. */
  #rung(): void {
    if (this.#stopped) return;
    this.#armed = false;
    if (this.#rest === "backOff") return;
    if (this.#rest === "idle") {
      this.#called = true;
      this.#arm();
    }
    this.#wake();
    this.#schedule();
  }

  #room(): number {
    const { isAlone, room } = this.#roster;
    const mayClaim = !this.#stopped && this.#rest !== "backOff" && !isAlone && this.#host.mayClaim();
    return mayClaim ? room : 0;
  }

  #arm(): void {
    this.#listener.arm();
    this.#armed = true;
  }

  /** Something becomes due after `ms`. */
  dueIn(ms: number): void {
    if (this.#rest === "idle" && this.#world.clock.monotonicMs() + ms < this.#timerAtMs)
      this.#sleep("idle", ms);
  }

  /** How many places are to be left free for the next claim. */
  get keeps(): number {
    const { nowMs } = this.#roster;
    const comes = this.#rest === undefined && this.#failures === 0 && !this.#contact.isCautious(nowMs);
    return comes && nowMs - this.#lastTakeoverMs >= TAKEOVER_EVERY_MS ? 1 : 0;
  }

  /** Claims nothing from now on; resolves when a claim that was under way has been answered and handed over. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    this.#listener.close();
    await this.#claiming;
  }

  #schedule(): void {
    if (this.#scheduled || this.#stopped || this.#claiming !== undefined) return;
    this.#scheduled = true;
    this.#world.timers.nextTurn(() => {
      this.#scheduled = false;
      this.#look();
    });
  }

  #look(): void {
    if (this.#stopped || this.#claiming !== undefined) return;
    if (this.#roster.isAlone || !this.#host.mayClaim()) {
      this.#host.noneComes();
      return;
    }
    const sent = instant(this.#world.clock);
    this.#roster.nowMs = sent.monotonicMs;
    const { free, ahead, waiting } = this.#roster;
    const takeover = free > 0 && this.#takesOver(sent.monotonicMs);
    const limit = takeover ? 1 : free + ahead - waiting;
    // With all places taken, a prefetch is worth a call when half of it is used up and there was more to be had.
    if (limit <= 0 || (free === 0 && (this.#short || limit * 2 < ahead))) {
      this.#host.noneComes();
      return;
    }
    this.#claiming = this.#claim(limit, free, takeover);
    void this.#claiming.then(() => this.#after());
  }

  #takesOver(nowMs: number): boolean {
    if (this.#called || this.#contact.isCautious(nowMs)) return false;
    return this.#short || nowMs - this.#lastTakeoverMs >= TAKEOVER_EVERY_MS;
  }

  async #claim(limit: number, places: number, takeover: boolean): Promise<void> {
    this.#roster.reserved = Math.min(limit, this.#roster.free);
    let reply: Claimed | undefined;
    let sent!: Instant;
    try {
      if (this.#contact.isLost(this.#world.clock.monotonicMs())) await this.#host.renewFirst();
      // After a silence the answer itself may forbid what was asked for.
      const mayTakeOver = takeover && !this.#contact.isCautious(this.#world.clock.monotonicMs());
      sent = instant(this.#world.clock);
      this.#contact.asked();
      reply = await this.#store.claim(
        { owner: this.#options.owner, queues: this.#queues(), limit, places, takeover: mayTakeOver },
        { timeoutMs: this.#options.callTimeoutMs },
      );
      this.#contact.answered();
      this.#world.reached("after-claim-reply");
      if (takeover) this.#lastTakeoverMs = sent.monotonicMs;
    } catch (error) {
      this.#failures++;
      this.#host.failed(error);
    }
    this.#roster.reserved = 0;
    this.#roster.nowMs = this.#world.clock.monotonicMs();
    if (reply === undefined) {
      this.#host.noneComes();
      return;
    }
    if (this.#failures > 0) this.#host.answered();
    this.#failures = 0;
    this.#note(reply, limit, takeover);
    this.#host.claimed(reply, sent);
  }

  /** Draws from the reply what the next claim will be, and whether there is one before something happens. */
  #note(reply: Claimed, limit: number, takeover: boolean): void {
    const found = reply.jobs.length;
    this.#foundSome = found > 0;
    // Where the bell has called, it need not be looked for by the clock so soon: each such look holds up what comes meanwhile.
    if (this.#foundSome && !this.#called) this.#pollMs = this.#options.pollMs;
    if (!takeover) this.#short = found < limit;
    else if (found > 0) this.#short = reply.jobs[0]?.previous !== undefined;
    else this.#short = true;
    const nothing = found === 0 && (takeover || this.#contact.isCautious(this.#roster.nowMs));
    const cameShort = found < limit && reply.ended.length === 0;
    if (cameShort && this.#armed && (nothing || this.#called)) {
      this.#rest = "idle";
      this.#nextDueInMs = reply.nextDueInMs;
    } else if (cameShort) {
      // Arm first and look once more: a wake-up for what came in between would otherwise be lost.
      this.#arm();
    } else {
      this.#called = false;
      this.#armed = false;
    }
  }

  #after(): void {
    this.#claiming = undefined;
    if (this.#stopped) return;
    if (this.#failures > 0) {
      const waitMs = Math.min(this.#options.pollMs * 2 ** (this.#failures - 1), LONGEST_POLL_MS);
      this.#sleep("backOff", this.#jittered(waitMs));
    } else if (this.#rest === "idle" && this.#called) {
      this.#sleepOn();
    } else if (this.#rest === "idle") {
      const dueInMs = this.#nextDueInMs;
      this.#sleepUntil(this.#nextPollMs(), dueInMs);
      this.#host.idle(dueInMs);
    } else {
      this.#schedule();
    }
  }

  /** As it would have slept without the call; but calls that bring jobs overtake what has lapsed for so long only (C15). */
  #sleepOn(): void {
    this.#called = false;
    const wasToWakeInMs = Math.max(0, this.#timerAtMs - this.#roster.nowMs);
    const ms = this.#foundSome ? TAKEOVER_EVERY_MS : wasToWakeInMs;
    this.#sleepUntil(Math.min(ms, wasToWakeInMs), this.#nextDueInMs);
  }

  #sleepUntil(ms: number, dueInMs: number | undefined): void {
    this.#sleep("idle", dueInMs === undefined ? ms : Math.min(ms, dueInMs + 1));
  }

  #nextPollMs(): number {
    const ms = this.#jittered(this.#pollMs);
    this.#pollMs = Math.min(this.#pollMs * 2, Math.max(LONGEST_POLL_MS, this.#options.pollMs));
    return ms;
  }

  #sleep(rest: "idle" | "backOff", ms: number): void {
    this.#rest = rest;
    this.#timer?.cancel();
    this.#timerAtMs = this.#world.clock.monotonicMs() + ms;
    this.#timer = this.#world.timers.after(ms, () => {
      this.#wake();
      if (rest === "idle") this.#arm();
      this.#schedule();
    });
  }

  #wake(): void {
    this.#rest = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Never longer: what has lapsed is found within the longest poll. */
  #jittered(ms: number): number {
    return ms * (1 - 0.3 * this.#world.random.next());
  }

  /** Queues take turns at the front (C15). */
  #queues(): readonly string[] {
    const { queues } = this.#options;
    if (queues.length === 1) return queues;
    const first = this.#turn++ % queues.length;
    return [...queues.slice(first), ...queues.slice(0, first)];
  }
}
