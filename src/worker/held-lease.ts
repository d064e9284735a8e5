import type { Clock } from "../clock/world.ts";
import type { Fence, FencingToken, NamedFence } from "../protocol/identity.ts";
import type { NamedLeaseRefusal } from "../protocol/named-lease.ts";
import type { Refusal } from "../protocol/outcome.ts";
import type { Renewed } from "../protocol/renew.ts";
import { defaultMarginMs, type Instant, type Trust, type TrustState, trustState } from "../protocol/trust.ts";

/** Who is told what the store answered to a renewal. */
export interface LeaseHolder {
  renewed(answer: Pick<Renewed, "cancelRequested">): void;
  /** The fence is not current any more: the lease is lost (W5). */
  refused(refusal: Refusal | NamedLeaseRefusal): void;
}

export function instant(clock: Clock): Instant {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

/**
 * One lease that this process holds, and how long it may trust it (T2, T3). Kept small: there is one for each job that
 * is claimed.
 */
export class HeldLease implements Trust {
  readonly fence: Fence | NamedFence;
  readonly token: FencingToken;
  readonly leaseMs: number;
  readonly marginMs: number;
  readonly holder: LeaseHolder;
  /** Both clocks before the last answered claim or renewal was sent; shared by all of its batch. */
  sent: Instant;
  /** By the monotonic clock, when the next renewal is to be sent. */
  renewAtMs: number;
  /** It is not renewed after this moment of the monotonic clock. */
  untilMs: number = Number.POSITIVE_INFINITY;
  /** Its place in the renewer's table; −1 when it is not renewed. */
  place = -1;
  #ended = false;

  constructor(
    fence: Fence | NamedFence,
    token: FencingToken,
    leaseMs: number,
    sent: Instant,
    random: number,
    holder: LeaseHolder,
  ) {
    this.fence = fence;
    this.token = token;
    this.leaseMs = leaseMs;
    this.marginMs = defaultMarginMs(leaseMs);
    this.holder = holder;
    this.sent = sent;
    this.renewAtMs = sent.monotonicMs + renewAfterMs(leaseMs, random);
  }

  /** `ended` is final: trust that was seen to run out does not come back, though the store may still renew (T3). */
  stateAt(now: Instant): TrustState {
    if (this.#ended) return "ended";
    const state = trustState(this, now);
    if (state === "ended") this.#ended = true;
    return state;
  }

  /** From now on it is `ended`, whatever the clocks say: the store refused it, or it was given up. */
  end(): void {
    this.#ended = true;
  }

  /** An answered renewal counts from when it was sent; one that comes late counts for no more than that. */
  extend(sent: Instant, random: number): void {
    if (sent.monotonicMs < this.sent.monotonicMs) return;
    this.sent = sent;
    this.renewAtMs = sent.monotonicMs + renewAfterMs(this.leaseMs, random);
  }
}

/** W2: when a third of the lease has passed, up to a sixth of that earlier, so that leases do not stay in step. */
export function renewAfterMs(leaseMs: number, random: number): number {
  return (leaseMs / 3) * (1 - random / 6);
}

/**
 * How long a renewal may take that is sent now, ms: half of the trust that is left, and a margin at least. A busy store
 * then has a quarter of a lease for its answer; one that was lost leaves time for three more. A margin for each try would
 * give every renewal up where writes take longer than a tenth of a lease, though the store carries them all out.
 *
 * One whose trust has ended, but not its settling, cannot be late any more: were it in a hurry, all that go with it would
 * be given up after a margin, and a connection that was given up is replaced by one that is slower still at first.
 */
export function renewWithinMs(leaseMs: number, sentMs: number, nowMs: number): number {
  const marginMs = defaultMarginMs(leaseMs);
  const trustMs = sentMs + leaseMs - marginMs - nowMs;
  return Math.max(marginMs, trustMs > 0 ? trustMs / 2 : leaseMs / 4);
}
