import type { World } from "../clock/world.ts";
import { type Fence, generation, jobId, type NamedFence, type Owner } from "../protocol/identity.ts";
import { Drift } from "./drift.ts";
import { instant, renewAfterMs, renewWithinMs } from "./held-lease.ts";
import type { FromThread } from "./renewal-messages.ts";
import { FENCES_PER_CALL, type RenewalAnswer, type RenewCall, TOGETHER_MS } from "./renewer.ts";
import { SLOTS, type SlotTable } from "./slots.ts";

/** How often the table is looked through while anything is held. */
export const SCAN_MS = 25;
/**
 * So many calls of one moment stay in step: leases that were claimed together stand side by side in the store, and to renew
 * them together touches a tenth of the pages. More would make renewals come in bursts.
 */
const CALLS_IN_STEP = 4;
/** With nothing held for so long, it sleeps until it is told. */
const SLEEP_AFTER_MS = 1_000;

interface Due {
  readonly slot: number;
  readonly version: number;
  readonly fence: Fence & NamedFence;
  readonly leaseMs: number;
  /** When the last answered request was sent. */
  readonly sentMs: number;
}

/** What the renewer thread does: finds the leases that are due in the shared table, and renews them (W2). */
export class RenewalLoop {
  readonly #world: World;
  readonly #renew: RenewCall;
  readonly #owner: Owner | undefined;
  readonly #maxBlockedMs: number;
  readonly #post: (message: FromThread) => void;
  readonly #tables: SlotTable[] = [];
  /** By slot: the version that was seen there last, and when that one is due. */
  readonly #seen: Int32Array[] = [];
  readonly #renewAtMs: Float64Array[] = [];
  readonly #named = new Map<number, { readonly version: number; readonly fence: NamedFence }>();
  readonly #drift = new Drift();
  /** Of the claim whose leases were seen last: they begin in step. */
  #newest = { sentMs: Number.NaN, random: 0 };
  #emptySinceMs: number | undefined;
  #running = false;
  #sending: Promise<void> | undefined;
  #closed = false;

  constructor(
    world: World,
    renew: RenewCall,
    owner: Owner | undefined,
    maxBlockedMs: number,
    post: (message: FromThread) => void,
  ) {
    this.#world = world;
    this.#renew = renew;
    this.#owner = owner;
    this.#maxBlockedMs = maxBlockedMs;
    this.#post = post;
  }

  addTable(table: SlotTable): void {
    this.#tables.push(table);
    this.#seen.push(new Int32Array(SLOTS));
    this.#renewAtMs.push(new Float64Array(SLOTS));
  }

  /** The fence of a named lease: its name does not fit in a slot. */
  name(slot: number, version: number, fence: NamedFence): void {
    this.#named.set(slot, { version, fence });
  }

  wake(): void {
    this.#tables[0]?.setAsleep(false);
    if (this.#running || this.#closed) return;
    this.#running = true;
    this.#emptySinceMs = undefined;
    this.#scan();
  }

  /** Renews all that is held at once. */
  async renewNow(): Promise<void> {
    await this.#sending?.catch(() => {});
    await this.#send(this.#due(Number.POSITIVE_INFINITY).due);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#sending?.catch(() => {});
  }

  #scan(): void {
    if (this.#closed) return;
    const now = instant(this.#world.clock);
    const nowMs = now.monotonicMs;
    if (this.#drift.hasGrown(now)) for (const renewAtMs of this.#renewAtMs) renewAtMs.fill(0);
    const { due, held, isLate } = this.#due(nowMs + TOGETHER_MS, nowMs);
    // The watchdog: a main loop that has been silent for too long hangs, and must lose its leases.
    const mainLives = nowMs - (this.#tables[0]?.heartbeatMs() ?? 0) <= this.#maxBlockedMs;
    if (isLate && mainLives && this.#sending === undefined) {
      this.#sending = this.#send(due)
        .catch(() => {})
        .finally(() => {
          this.#sending = undefined;
        });
    }
    if (held > 0) this.#emptySinceMs = undefined;
    else if (this.#fellAsleep(nowMs)) return;
    this.#world.timers.after(SCAN_MS, () => this.#scan());
  }

  /** What falls due until then; `isLate` tells whether something of it is due already. */
  #due(
    untilMs: number,
    nowMs = this.#world.clock.monotonicMs(),
  ): { due: Due[]; held: number; isLate: boolean } {
    const due: Due[] = [];
    let held = 0;
    let isLate = false;
    for (const [t, table] of this.#tables.entries()) {
      const seen = this.#seen[t] as Int32Array;
      const renewAtMs = this.#renewAtMs[t] as Float64Array;
      for (let slot = 0, end = table.highWater(); slot < end; slot++) {
        let version = table.glance(slot);
        if (seen[slot] !== version) version = table.version(slot);
        if ((version & 1) === 0) continue;
        held++;
        if (seen[slot] !== version) {
          seen[slot] = version;
          renewAtMs[slot] = this.#firstRenewalMs(table.sentMs(slot), table.leaseMs(slot));
        }
        const atMs = renewAtMs[slot] as number;
        if (atMs > untilMs) continue;
        const found = this.#dueAt(t * SLOTS + slot, nowMs);
        if (found === undefined) continue;
        due.push(found);
        isLate ||= atMs <= nowMs;
      }
    }
    return { due, held, isLate };
  }

  #firstRenewalMs(sentMs: number, leaseMs: number): number {
    if (sentMs !== this.#newest.sentMs) this.#newest = { sentMs, random: this.#world.random.next() };
    return sentMs + renewAfterMs(leaseMs, this.#newest.random);
  }

  #dueAt(slot: number, nowMs: number): Due | undefined {
    const content = this.#tables[Math.floor(slot / SLOTS)]?.read(slot % SLOTS);
    if (content === undefined || nowMs >= content.untilMs) return undefined;
    const { version, leaseMs, sentMs } = content;
    if (this.#owner === undefined) {
      const named = this.#named.get(slot);
      return named?.version === version
        ? { slot, version, leaseMs, sentMs, fence: named.fence as Fence & NamedFence }
        : undefined;
    }
    const fence = {
      jobId: jobId(content.id),
      owner: this.#owner,
      generation: generation(content.generation),
    };
    return { slot, version, leaseMs, sentMs, fence: fence as Fence & NamedFence };
  }

  async #send(due: readonly Due[]): Promise<void> {
    let random = 0;
    for (let start = 0; start < due.length; start += FENCES_PER_CALL) {
      if (start % (CALLS_IN_STEP * FENCES_PER_CALL) === 0) random = this.#world.random.next();
      const batch = due.slice(start, start + FENCES_PER_CALL);
      this.#world.reached("in-renewal");
      const sent = instant(this.#world.clock);
      const timeoutMs = Math.min(
        ...batch.map(({ leaseMs, sentMs }) => renewWithinMs(leaseMs, sentMs, sent.monotonicMs)),
      );
      const answers = await this.#renew(
        batch.map(({ fence }) => fence),
        { timeoutMs },
      );
      for (const [i, member] of batch.entries())
        this.#apply(member, answers[i] as RenewalAnswer, sent, random);
    }
  }

  #apply(
    { slot, version, leaseMs }: Due,
    answer: RenewalAnswer,
    sent: { readonly monotonicMs: number; readonly wallMs: number },
    random: number,
  ): void {
    if (answer.outcome === "busy") return;
    const table = this.#tables[Math.floor(slot / SLOTS)] as SlotTable;
    const renewAtMs = this.#renewAtMs[Math.floor(slot / SLOTS)] as Float64Array;
    if (answer.outcome !== "applied") {
      renewAtMs[slot % SLOTS] = Number.POSITIVE_INFINITY;
      this.#post({ kind: "refused", slot, version, refusal: answer });
      return;
    }
    renewAtMs[slot % SLOTS] = sent.monotonicMs + renewAfterMs(leaseMs, random);
    table.renew(slot % SLOTS, version, sent.monotonicMs, sent.wallMs);
    if (answer.cancelRequested) this.#post({ kind: "cancel", slot, version });
  }

  #fellAsleep(nowMs: number): boolean {
    this.#emptySinceMs ??= nowMs;
    if (nowMs - this.#emptySinceMs < SLEEP_AFTER_MS) return false;
    // Say so first and look again after: what is registered in between is seen by one side or the other.
    this.#tables[0]?.setAsleep(true);
    if (this.#due(0, nowMs).held > 0) {
      this.#tables[0]?.setAsleep(false);
      return false;
    }
    this.#running = false;
    return true;
  }
}
