import type { Log } from "../client/log.ts";
import type { World } from "../clock/world.ts";
import { leaseLine } from "../protocol/identity.ts";
import type { Slot } from "../protocol/limit.ts";
import type { Instant } from "../protocol/trust.ts";
import type { Store } from "../stores/store.ts";
import { giveUp } from "./give-up.ts";
import { HeldLease, type LeaseHolder } from "./held-lease.ts";
import { openRenewer } from "./open-renewer.ts";
import type { Renewer } from "./renewer.ts";
import type { Run } from "./run.ts";

export interface QueueSlotsNeeds {
  readonly world: World;
  readonly store: Store;
  readonly log: Log;
  readonly renewer: "thread" | "inline";
  readonly maxBlockedMs: number;
  readonly callTimeoutMs: number;
}

/**
 * The slots that this worker's runs hold in queues with a `concurrency`: named leases, renewed beside the jobs' own and
 * given up when the handler has ended, not when the job's lease has. So a limit counts what runs, and a worker that is
 * gone gives its slots back by their lapse. Their renewer is opened for the first of them.
 */
export class QueueSlots {
  readonly #needs: QueueSlotsNeeds;
  readonly #held = new Map<Run, HeldSlot>();
  readonly #releasing = new Set<Promise<void>>();
  #freed: Slot[] = [];
  #renewer: Renewer | undefined;

  constructor(needs: QueueSlotsNeeds) {
    this.#needs = needs;
  }

  /** @param sent both clocks before the claim was sent */
  hold(run: Run, slot: Slot, sent: Instant): void {
    this.#renewer ??= this.#open();
    const held = new HeldSlot(run, slot, sent, this.#needs.world.random.next());
    this.#held.set(run, held);
    this.#renewer.hold(held.lease);
  }

  tick(now: Instant): void {
    this.#renewer?.tick(now);
  }

  limit(run: Run, untilMs: number): void {
    const held = this.#held.get(run);
    if (held !== undefined) this.#renewer?.limit(held.lease, untilMs);
  }

  /** The run holds on to its place, but not to its slot, which is left to lapse (W4). */
  leave(run: Run): void {
    const held = this.#held.get(run);
    if (held === undefined) return;
    this.#held.delete(run);
    this.#renewer?.drop(held.lease);
  }

  /** The run has come to its end. What is given up in one turn goes in one call. */
  release(run: Run): void {
    const held = this.#held.get(run);
    this.leave(run);
    if (held === undefined || held.isLost) return;
    if (this.#freed.push(held.slot) > 1) return;
    this.#needs.world.timers.nextTurn(() => {
      const freed = this.#freed;
      this.#freed = [];
      const releasing = this.#giveUp(freed).finally(() => this.#releasing.delete(releasing));
      this.#releasing.add(releasing);
    });
  }

  /** @throws what the store threw */
  async renewNow(): Promise<void> {
    if (this.#held.size > 0) await this.#renewer?.renewNow();
  }

  async close(): Promise<void> {
    if (this.#freed.length > 0) {
      const freed = this.#freed.splice(0);
      await this.#giveUp(freed);
    }
    await Promise.all(this.#releasing);
    await this.#renewer?.close();
  }

  #giveUp(slots: readonly Slot[]): Promise<void> {
    const { world, store, callTimeoutMs: timeoutMs, log } = this.#needs;
    let left = slots;
    return giveUp(world, log, "the slot of a limited queue", async () => {
      const answers = await store.release(left, { timeoutMs });
      left = left.filter((_, n) => answers[n]?.outcome === "busy");
      return left.length === 0;
    });
  }

  #open(): Renewer {
    const { world, log, store, renewer, maxBlockedMs } = this.#needs;
    return openRenewer(renewer, {
      world,
      log,
      spec: store.renewalThread,
      storeName: store.description,
      owner: undefined,
      maxBlockedMs,
      renew: (fences, options) => store.renewLeases(fences, options),
      contact: undefined,
    });
  }
}

class HeldSlot implements LeaseHolder {
  readonly lease: HeldLease;
  readonly slot: Slot;
  readonly #run: Run;
  /** The store has refused it: another run has it. */
  isLost = false;

  constructor(run: Run, slot: Slot, sent: Instant, random: number) {
    this.#run = run;
    this.slot = slot;
    const { name, owner, generation } = slot;
    const token = { line: leaseLine(name), generation, owner };
    this.lease = new HeldLease(slot, token, run.lease.leaseMs, sent, random, this);
  }

  renewed(): void {}

  refused(): void {
    this.isLost = true;
    this.#run.slotLost();
  }
}
