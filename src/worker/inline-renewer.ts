import type { World } from "../clock/world.ts";
import type { Fence, NamedFence } from "../protocol/identity.ts";
import type { Instant } from "../protocol/trust.ts";
import { Drift } from "./drift.ts";
import { type HeldLease, instant, renewWithinMs } from "./held-lease.ts";
import {
  type Contact,
  FENCES_PER_CALL,
  type RenewalAnswer,
  type RenewCall,
  type Renewer,
  TOGETHER_MS,
} from "./renewer.ts";

/**
 * Renews on the main loop: right for stores that live in this process or were given as a live handle. A handler that
 * blocks the loop for longer than its lease loses it.
 */
export class InlineRenewer implements Renewer {
  readonly kind = "inline";
  readonly #world: World;
  readonly #renew: RenewCall;
  readonly #contact: Contact | undefined;
  readonly #held: HeldLease[] = [];
  readonly #drift = new Drift();
  #inFlight: Promise<void> | undefined;

  constructor(world: World, renew: RenewCall, contact?: Contact) {
    this.#world = world;
    this.#renew = renew;
    this.#contact = contact;
  }

  hold(lease: HeldLease): void {
    lease.place = this.#held.length;
    this.#held.push(lease);
  }

  drop(lease: HeldLease): void {
    const { place } = lease;
    if (place < 0) return;
    lease.place = -1;
    const last = this.#held.pop() as HeldLease;
    if (last === lease) return;
    this.#held[place] = last;
    last.place = place;
  }

  limit(lease: HeldLease, untilMs: number): void {
    lease.untilMs = untilMs;
  }

  tick(now: Instant): void {
    if (this.#drift.hasGrown(now)) for (const lease of this.#held) lease.renewAtMs = now.monotonicMs;
    if (this.#inFlight !== undefined) return;
    for (const lease of this.#held) {
      if (lease.renewAtMs <= now.monotonicMs && now.monotonicMs < lease.untilMs) {
        // A failure shows in the leases, which stay due and are asked for again at the next tick until trust ends.
        this.#send(now.monotonicMs + TOGETHER_MS).catch(() => {});
        return;
      }
    }
  }

  refresh(): void {}

  async renewNow(): Promise<void> {
    await this.#inFlight?.catch(() => {});
    await this.#send(Number.POSITIVE_INFINITY);
  }

  async close(): Promise<void> {
    await this.#inFlight?.catch(() => {});
  }

  #send(dueUntilMs: number): Promise<void> {
    const nowMs = this.#world.clock.monotonicMs();
    const due = this.#held.filter((lease) => lease.renewAtMs <= dueUntilMs && nowMs < lease.untilMs);
    const sending = this.#sendAll(due);
    this.#inFlight = sending.finally(() => {
      this.#inFlight = undefined;
    });
    return this.#inFlight;
  }

  async #sendAll(due: readonly HeldLease[]): Promise<void> {
    for (let start = 0; start < due.length; start += FENCES_PER_CALL) {
      await this.#sendOne(due.slice(start, start + FENCES_PER_CALL).filter((lease) => lease.place >= 0));
    }
  }

  async #sendOne(leases: readonly HeldLease[]): Promise<void> {
    if (leases.length === 0) return;
    this.#world.reached("in-renewal");
    const sent = instant(this.#world.clock);
    const withinMs = leases.map((lease) =>
      renewWithinMs(lease.leaseMs, lease.sent.monotonicMs, sent.monotonicMs),
    );
    this.#contact?.asked();
    const answers = await this.#renew(
      leases.map(({ fence }) => fence as Fence & NamedFence),
      { timeoutMs: Math.min(...withinMs) },
    );
    this.#contact?.answered();
    for (const [i, lease] of leases.entries()) {
      if (lease.place < 0) continue;
      const answer = answers[i] as RenewalAnswer;
      if (answer.outcome === "busy") continue;
      if (answer.outcome === "applied") {
        lease.extend(sent, this.#world.random.next());
        lease.holder.renewed(answer);
      } else {
        this.drop(lease);
        lease.holder.refused(answer);
      }
    }
  }
}
