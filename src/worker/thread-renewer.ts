import { Worker as Thread } from "node:worker_threads";
import type { World } from "../clock/world.ts";
import { UnknownOutcomeError } from "../errors.ts";
import type { Fence, NamedFence } from "../protocol/identity.ts";
import type { Instant } from "../protocol/trust.ts";
import type { HeldLease } from "./held-lease.ts";
import { InlineRenewer } from "./inline-renewer.ts";
import type { FromThread, ThreadData, ToThread } from "./renewal-messages.ts";
import type { Renewer, RenewerNeeds } from "./renewer.ts";
import { SLOTS, SlotTable } from "./slots.ts";

/** How long `close` waits for the thread's last statement, ms. */
const CLOSE_WITHIN_MS = 5_000;

/**
 * The main loop's half of the renewer thread. Leases are registered in shared memory; only refusals and cancels come by
 * message, which need a main loop that runs anyway. Should the thread fail, renewal goes on inline, and the log says so.
 */
export class ThreadRenewer implements Renewer {
  readonly #world: World;
  readonly #needs: RenewerNeeds & { readonly spec: NonNullable<RenewerNeeds["spec"]> };
  readonly #named: boolean;
  readonly #file: URL;
  /** Started by the first lease: a worker that finds nothing to do needs none. */
  #thread: Thread | undefined;
  #exited: Promise<void> | undefined;
  readonly #tables: SlotTable[] = [new SlotTable()];
  readonly #free: number[] = [];
  readonly #leases: (HeldLease | undefined)[] = [];
  readonly #calls = new Map<number, { resolve(): void; reject(error: unknown): void }>();
  #call = 0;
  #used = 0;
  #beatMs = 0;
  #closing = false;
  #inline: InlineRenewer | undefined;

  constructor(file: URL, needs: RenewerNeeds & { readonly spec: NonNullable<RenewerNeeds["spec"]> }) {
    this.#file = file;
    this.#world = needs.world;
    this.#needs = needs;
    this.#named = needs.owner === undefined;
  }

  get kind(): "inline" | "thread" {
    return this.#inline === undefined ? "thread" : "inline";
  }

  hold(lease: HeldLease): void {
    if (this.#inline !== undefined) {
      this.#inline.hold(lease);
      return;
    }
    if (this.#thread === undefined) this.#start();
    const place = this.#free.pop() ?? this.#unused();
    const table = this.#tableOf(place);
    const { fence, leaseMs, sent } = lease;
    lease.place = place;
    this.#leases[place] = lease;
    this.#beat(sent.monotonicMs);
    table.fill(
      place % SLOTS,
      this.#named ? "" : (fence as Fence).jobId,
      fence.generation,
      leaseMs,
      sent.monotonicMs,
    );
    if (this.#named) {
      this.#post({
        kind: "named",
        slot: place,
        version: table.version(place % SLOTS),
        fence: fence as NamedFence,
      });
    }
    if (this.#first.isAsleep()) this.#post({ kind: "wake" });
  }

  drop(lease: HeldLease): void {
    if (this.#inline !== undefined) {
      this.#inline.drop(lease);
      return;
    }
    const { place } = lease;
    if (place < 0) return;
    this.refresh(lease);
    lease.place = -1;
    this.#leases[place] = undefined;
    this.#tableOf(place).free(place % SLOTS);
    this.#free.push(place);
  }

  limit(lease: HeldLease, untilMs: number): void {
    lease.untilMs = untilMs;
    if (this.#inline === undefined && lease.place >= 0)
      this.#tableOf(lease.place).limit(lease.place % SLOTS, untilMs);
  }

  tick(now: Instant): void {
    if (this.#inline !== undefined) this.#inline.tick(now);
    else this.#beat(now.monotonicMs);
  }

  refresh(lease: HeldLease): void {
    if (this.#inline !== undefined || lease.place < 0) return;
    const sent = this.#tableOf(lease.place).renewed(lease.place % SLOTS);
    if (sent !== undefined && sent.monotonicMs > lease.sent.monotonicMs)
      lease.extend(sent, this.#world.random.next());
  }

  renewNow(): Promise<void> {
    if (this.#inline !== undefined) return this.#inline.renewNow();
    if (this.#thread === undefined) return Promise.resolve();
    const call = this.#call++;
    this.#post({ kind: "renewNow", call });
    return new Promise((resolve, reject) => this.#calls.set(call, { resolve, reject }));
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.#inline?.close();
    if (this.#thread === undefined) return;
    // While it is waited for, it must keep the process alive.
    this.#thread.ref();
    this.#post({ kind: "close" });
    const over = new AbortController();
    await Promise.race([this.#exited, this.#world.timers.sleep(CLOSE_WITHIN_MS, over.signal)]);
    over.abort();
    this.#thread.unref();
  }

  #start(): void {
    const { owner, maxBlockedMs, spec } = this.#needs;
    const { module, options } = spec;
    const workerData: ThreadData = {
      table: this.#first.buffer,
      owner,
      maxBlockedMs,
      module: module.href,
      options,
    };
    const thread = new Thread(this.#file, { workerData, name: "leasehold renewer" });
    // It lives as long as somebody needs it; alone it keeps no process alive.
    thread.unref();
    thread.on("message", (message: FromThread) => this.#hear(message));
    thread.on("error", (error) => this.#fallBack(error));
    this.#exited = new Promise((resolve) => {
      thread.on("exit", () => {
        this.#fallBack(undefined);
        resolve();
      });
    });
    this.#thread = thread;
  }

  get #first(): SlotTable {
    return this.#tables[0] as SlotTable;
  }

  #tableOf(place: number): SlotTable {
    return this.#tables[Math.floor(place / SLOTS)] as SlotTable;
  }

  #unused(): number {
    const place = this.#used++;
    if (place >= this.#tables.length * SLOTS) {
      const table = new SlotTable();
      this.#tables.push(table);
      this.#post({ kind: "table", table: table.buffer });
    }
    return place;
  }

  #beat(monotonicMs: number): void {
    if (monotonicMs <= this.#beatMs) return;
    this.#beatMs = monotonicMs;
    this.#first.beat(monotonicMs);
  }

  #post(message: ToThread): void {
    this.#thread?.postMessage(message);
  }

  #hear(message: FromThread): void {
    if (message.kind === "renewedNow") {
      const call = this.#calls.get(message.call);
      this.#calls.delete(message.call);
      if (message.problem === undefined) call?.resolve();
      else call?.reject(new UnknownOutcomeError("renew", message.problem));
      return;
    }
    const { slot, version } = message;
    const lease = this.#leases[slot];
    if (lease === undefined || this.#tableOf(slot).version(slot % SLOTS) !== version) return;
    if (message.kind === "cancel") {
      lease.holder.renewed({ cancelRequested: true });
    } else {
      this.drop(lease);
      lease.holder.refused(message.refusal);
    }
  }

  /** The thread could not start, or has died: what it held is renewed from here. */
  #fallBack(error: unknown): void {
    if (this.#inline !== undefined) return;
    const { world, renew, contact, log } = this.#needs;
    const held = this.#leases.filter((lease) => lease !== undefined);
    for (const lease of held) this.refresh(lease);
    this.#inline = new InlineRenewer(world, renew, contact);
    for (const lease of held) this.#inline.hold(lease);
    this.#leases.length = 0;
    for (const { resolve } of this.#calls.values()) resolve();
    this.#calls.clear();
    if (this.#closing) return;
    const message =
      "the renewer thread failed; leases are renewed on the main loop, and a handler that blocks it may lose them";
    log({ level: "warning", kind: "renewal_inline", message, error });
  }
}
