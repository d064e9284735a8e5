import type { Lease } from "../client/handler.ts";
import type { World } from "../clock/world.ts";
import { LeaseNotTrustedError } from "../errors.ts";
import type { FencingToken } from "../protocol/identity.ts";
import { remainingTrustMs, type TrustState } from "../protocol/trust.ts";
import { type HeldLease, instant } from "./held-lease.ts";

/** A held lease as handlers and destinations see it. */
export class LeaseView implements Lease {
  readonly effectScope: string | null;
  readonly #held: HeldLease;
  readonly #world: World;
  readonly #signal: () => AbortSignal;
  readonly #refresh: (lease: HeldLease) => void;

  constructor(
    held: HeldLease,
    effectScope: string | null,
    world: World,
    signal: () => AbortSignal,
    refresh: (lease: HeldLease) => void,
  ) {
    this.effectScope = effectScope;
    this.#held = held;
    this.#world = world;
    this.#signal = signal;
    this.#refresh = refresh;
  }

  get token(): FencingToken {
    return this.#held.token;
  }

  get state(): TrustState {
    this.#refresh(this.#held);
    return this.#held.stateAt(instant(this.#world.clock));
  }

  remainingMs(): number {
    if (this.state === "ended") return 0;
    return Math.max(0, remainingTrustMs(this.#held, instant(this.#world.clock)));
  }

  get signal(): AbortSignal {
    return this.#signal();
  }

  assertTrusted(): void {
    const { state } = this;
    if (state === "ended") throw new LeaseNotTrustedError(this.token, "its trust has ended");
    if (state === "unknown") {
      throw new LeaseNotTrustedError(
        this.token,
        "this machine's clocks disagree, and no renewal has answered since",
      );
    }
    this.#world.reached("after-deadline-check");
  }
}
