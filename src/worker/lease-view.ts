import type { Lease } from "../client/handler.ts";
import type { World } from "../clock/world.ts";
import { LeaseNotTrustedError } from "../errors.ts";
import type { FencingToken } from "../protocol/identity.ts";
import { type Instant, remainingTrustMs, type Trust, type TrustState } from "../protocol/trust.ts";
import { instant } from "./held-lease.ts";

/** A lease, and how long whoever holds it in this process may trust it. */
export interface TrustedLease extends Trust {
  readonly token: FencingToken;
  stateAt(now: Instant): TrustState;
}

/** A held lease as handlers and destinations see it. */
export class LeaseView implements Lease {
  readonly effectScope: string | null;
  readonly #held: TrustedLease;
  readonly #world: World;
  readonly #signal: () => AbortSignal;
  readonly #refresh: () => void;

  constructor(
    held: TrustedLease,
    effectScope: string | null,
    world: World,
    signal: () => AbortSignal,
    refresh: () => void,
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
    this.#refresh();
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
