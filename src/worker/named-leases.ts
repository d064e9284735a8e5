import type { Lease } from "../client/handler.ts";
import type { Log } from "../client/log.ts";
import { checkLeaseName } from "../client/names.ts";
import type { World } from "../clock/world.ts";
import {
  ClosedError,
  type EndOfTrust,
  InvalidArgumentError,
  LeaseEndedError,
  StoreBusyError,
} from "../errors.ts";
import { type FencingToken, type Generation, leaseLine, type NamedFence } from "../protocol/identity.ts";
import type { NamedLeaseRefusal } from "../protocol/named-lease.ts";
import type { Refusal } from "../protocol/outcome.ts";
import { checkLeaseMs, type Instant } from "../protocol/trust.ts";
import type { Store } from "../stores/store.ts";
import { acquired } from "./acquire.ts";
import { giveUp } from "./give-up.ts";
import { refusedMark, tellHealed, tellTooHigh } from "./healing.ts";
import { HeldLease, type LeaseHolder } from "./held-lease.ts";
import { LeaseView } from "./lease-view.ts";
import { openRenewer } from "./open-renewer.ts";
import type { Renewer } from "./renewer.ts";
import { DEFAULT_MAX_BLOCKED_MS } from "./settings.ts";
import { Ticker } from "./ticker.ts";

export interface WithLeaseOptions {
  /** For how long the lease is granted at a time, ms from 250; it is renewed while `fn` runs. Default 30,000. */
  readonly leaseMs?: number;
  /** How long to wait while somebody else holds it, ms; `Infinity` for ever. Default 0: not at all. */
  readonly waitMs?: number;
  /** Ends the waiting; `fn` is not called then. */
  readonly signal?: AbortSignal;
  /** As for workers. Default `thread`. */
  readonly renewer?: "thread" | "inline";
}

const CLOSE_WITHIN_MS = 2_000;

/** The named leases that this process holds for `withLease`: renewed together, looked at by one ticker. */
export class NamedLeases {
  readonly #world: World;
  readonly #store: Store;
  readonly #log: Log;
  readonly #timeoutMs: number;
  readonly #renewers = new Map<"thread" | "inline", Renewer>();
  readonly #held = new Set<Holding>();
  readonly #ticker: Ticker;
  readonly #closing = new AbortController();

  constructor(world: World, store: Store, log: Log, timeoutMs: number) {
    this.#world = world;
    this.#store = store;
    this.#log = log;
    this.#timeoutMs = timeoutMs;
    this.#ticker = new Ticker(world, (now) => this.#tick(now));
  }

  async with<Result>(
    name: string,
    options: WithLeaseOptions,
    fn: (lease: Lease) => Promise<Result> | Result,
  ): Promise<Result> {
    const { leaseMs = 30_000, waitMs = 0, signal, renewer: choice = "thread" } = options;
    checkLeaseName("name", name);
    checkLeaseMs(leaseMs);
    if (!(waitMs >= 0))
      throw new InvalidArgumentError("waitMs", waitMs, "milliseconds from 0 up, or Infinity");
    if (this.#closing.signal.aborted) throw new ClosedError("Leasehold");

    const request = { name, leaseMs, waitMs, timeoutMs: this.#timeoutMs };
    const signals = [this.#closing.signal, ...(signal === undefined ? [] : [signal])];
    const { token, sent } = await acquired(this.#world, this.#store, request, signals);
    const fence = { name, owner: token.owner, generation: token.generation };
    const renewer = this.#renewer(choice);
    const holding = new Holding(fence, token, leaseMs, sent, this.#world.random.next(), renewer);
    this.#held.add(holding);
    renewer.hold(holding.lease);
    this.#ticker.start();
    let mark: Generation | undefined;
    try {
      return await fn(
        new LeaseView(
          holding.lease,
          null,
          this.#world,
          () => holding.signal,
          () => renewer.refresh(holding.lease),
        ),
      );
    } catch (thrown) {
      mark = refusedMark(thrown, token);
      throw thrown;
    } finally {
      renewer.drop(holding.lease);
      const { isLost } = holding;
      holding.lease.end();
      if (!isLost) await this.#release(fence, mark);
      this.#held.delete(holding);
    }
  }

  /** Fires the signals of what is held, waits for it a little, and closes the renewers. */
  async close(): Promise<void> {
    this.#closing.abort(new ClosedError("Leasehold"));
    for (const holding of this.#held) holding.abort("shutdown");
    const { clock, timers } = this.#world;
    const untilMs = clock.monotonicMs() + CLOSE_WITHIN_MS;
    while (this.#held.size > 0 && clock.monotonicMs() < untilMs) await timers.sleep(10);
    this.#ticker.stop();
    await Promise.all([...this.#renewers.values()].map((renewer) => renewer.close()));
  }

  #renewer(choice: "thread" | "inline"): Renewer {
    const open = this.#renewers.get(choice);
    if (open !== undefined) return open;
    const renewer = openRenewer(choice, {
      world: this.#world,
      log: this.#log,
      spec: this.#store.renewalThread,
      storeName: this.#store.description,
      maxBlockedMs: DEFAULT_MAX_BLOCKED_MS,
      renew: (fences, options) => this.#store.renewLeases(fences, options),
      owner: undefined,
      contact: undefined,
    });
    this.#renewers.set(choice, renewer);
    return renewer;
  }

  /** Gives the lease up, lifted to the mark that a destination refused it by (D6). */
  #release(fence: NamedFence, mark: Generation | undefined): Promise<void> {
    let lift = mark;
    return giveUp(this.#world, this.#log, `the lease ${JSON.stringify(fence.name)}`, async () => {
      if (lift !== undefined) {
        if (await this.#heal(fence, lift)) return true;
        lift = undefined;
      }
      const [answer] = await this.#store.release([fence], { timeoutMs: this.#timeoutMs });
      return answer?.outcome !== "busy";
    });
  }

  /** @returns whether the lease needs no release any more; false when the mark is for a person to look at */
  async #heal(fence: NamedFence, mark: Generation): Promise<boolean> {
    const what = `lease ${JSON.stringify(fence.name)}`;
    const token = { line: leaseLine(fence.name), owner: fence.owner, generation: fence.generation };
    const answer = await this.#store.healLease(fence, mark, { timeoutMs: this.#timeoutMs });
    if (answer.outcome === "busy") throw new StoreBusyError("heal", 0);
    if (answer.outcome === "applied") tellHealed(this.#log, what, token, mark);
    else if (answer.outcome === "too_high") tellTooHigh(this.#log, what, token, mark);
    return answer.outcome !== "too_high";
  }

  #tick(now: Instant): boolean {
    for (const renewer of this.#renewers.values()) renewer.tick(now);
    for (const holding of this.#held) holding.tick(now);
    return this.#held.size > 0;
  }
}

/** One named lease while its `fn` runs. */
class Holding implements LeaseHolder {
  readonly lease: HeldLease;
  readonly #renewer: Renewer;
  readonly #controller = new AbortController();
  /** The store has refused it: there is nothing to release. */
  isLost = false;

  constructor(
    fence: NamedFence,
    token: FencingToken,
    leaseMs: number,
    sent: Instant,
    random: number,
    renewer: Renewer,
  ) {
    this.lease = new HeldLease(fence, token, leaseMs, sent, random, this);
    this.#renewer = renewer;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  renewed(): void {}

  refused(_refusal: Refusal | NamedLeaseRefusal): void {
    this.isLost = true;
    this.abort("lease_superseded");
  }

  tick(now: Instant): void {
    this.#renewer.refresh(this.lease);
    if (this.lease.stateAt(now) === "ended") this.abort("lease_expired");
  }

  abort(reason: EndOfTrust): void {
    if (this.#controller.signal.aborted) return;
    if (reason !== "shutdown") {
      this.lease.end();
      this.#renewer.drop(this.lease);
    }
    this.#controller.abort(new LeaseEndedError(reason, this.lease.token));
  }
}
