import type { Log } from "../client/log.ts";
import type { World } from "../clock/world.ts";
import type { Fence, NamedFence, Owner } from "../protocol/identity.ts";
import type { NamedLeaseRefusal } from "../protocol/named-lease.ts";
import type { Busy, Refusal } from "../protocol/outcome.ts";
import type { Renewed } from "../protocol/renew.ts";
import type { Instant } from "../protocol/trust.ts";
import type { CallOptions, RenewalThreadSpec } from "../stores/store.ts";
import type { HeldLease } from "./held-lease.ts";

/** Keeps leases alive (W2): inline, on the main loop, or from a thread with a connection of its own. */
export interface Renewer {
  readonly kind: "inline" | "thread";
  /** Renews `lease` from now on. */
  hold(lease: HeldLease): void;
  /** Stops renewing it; a lease that is not held is fine. */
  drop(lease: HeldLease): void;
  /** Never renews it after `untilMs` of the monotonic clock, even while the main loop is blocked. */
  limit(lease: HeldLease, untilMs: number): void;
  /** Called every `TICK_MS` while anything is held, and before trust is looked at. */
  tick(now: Instant): void;
  /** Brings what other threads have renewed into `lease`. */
  refresh(lease: HeldLease): void;
  /**
   * Renews all that is held at once and waits for the answers (W7).
   *
   * @throws what the store threw
   */
  renewNow(): Promise<void>;
  close(): Promise<void>;
}

/** How many fences go in one statement. */
export const FENCES_PER_CALL = 500;
/** W2: what falls due within so many ms goes in one statement. */
export const TOGETHER_MS = 50;

export type RenewalAnswer = Renewed | Refusal | NamedLeaseRefusal | Busy;

/** The store's `renew` or `renewLeases`. */
export type RenewCall = (
  fences: readonly (Fence & NamedFence)[],
  options: CallOptions,
) => Promise<readonly RenewalAnswer[]>;

/** Told about each call, so that a store out of reach is known as such (W7). */
export interface Contact {
  asked(): void;
  answered(): void;
}

export interface RenewerNeeds {
  readonly world: World;
  readonly log: Log;
  /** How a thread opens its own connection; undefined where none can. */
  readonly spec: RenewalThreadSpec | undefined;
  readonly storeName: string;
  /** Whose jobs; undefined for named leases, each of which has an owner of its own. */
  readonly owner: Owner | undefined;
  readonly maxBlockedMs: number;
  readonly renew: RenewCall;
  readonly contact: Contact | undefined;
}
