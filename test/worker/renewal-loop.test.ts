import { describe, expect, it } from "vitest";
import { type ManualWorld, manualWorld } from "../../src/clock/manual.ts";
import { owner } from "../../src/protocol/identity.ts";
import { RenewalLoop } from "../../src/worker/renewal-loop.ts";
import type { FromThread } from "../../src/worker/renewal-messages.ts";
import type { RenewalAnswer } from "../../src/worker/renewer.ts";
import { SLOTS, SlotTable } from "../../src/worker/slots.ts";

const LEASE_MS = 3_000;
const APPLIED: RenewalAnswer = { outcome: "applied", lapsedMs: 0, cancelRequested: false };
const STALE: RenewalAnswer = {
  outcome: "stale",
  generation: 2,
  state: "leased",
  endReason: null,
  reason: "reclaimed",
} as never;

interface Side {
  readonly world: ManualWorld;
  readonly table: SlotTable;
  readonly loop: RenewalLoop;
  readonly posted: FromThread[];
  /** Job ids of each call. */
  readonly calls: string[][];
  answer: (id: string) => RenewalAnswer | Promise<RenewalAnswer>;
  /** As the main loop does every tick. */
  beat(): void;
  hold(slot: number): string;
}

function setUp(maxBlockedMs = 60_000): Side {
  const world = manualWorld();
  const table = new SlotTable();
  const posted: FromThread[] = [];
  const calls: string[][] = [];
  const side: Side = {
    world,
    table: new SlotTable(table.buffer),
    posted,
    calls,
    answer: () => APPLIED,
    loop: new RenewalLoop(
      world,
      async (fences) => {
        calls.push(fences.map(({ jobId }) => jobId));
        return Promise.all(fences.map(({ jobId }) => side.answer(jobId)));
      },
      owner("me"),
      maxBlockedMs,
      (message) => posted.push(message),
    ),
    beat: () => side.table.beat(world.clock.monotonicMs()),
    hold(slot) {
      const id = world.ids.jobId();
      side.table.fill(slot, id, 1, LEASE_MS, world.clock.monotonicMs());
      return id;
    },
  };
  side.loop.addTable(table);
  side.beat();
  side.loop.wake();
  return side;
}

async function pass(side: Side, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 50) {
    side.beat();
    await side.world.advance(50);
  }
}

describe("the renewer thread's loop", () => {
  it("renews what is in the table when a third of its lease has passed, in one call", async () => {
    const side = setUp();
    const ids = [side.hold(0), side.hold(1), side.hold(77)];
    await pass(side, 750);
    expect(side.calls).toEqual([]);
    await pass(side, 300);
    expect(side.calls.flat().toSorted()).toEqual(ids.toSorted());
    expect(side.table.renewed(77)?.monotonicMs).toBeGreaterThan(1_700);
    await pass(side, 30_000);
    expect(side.calls.flat().length).toBeGreaterThanOrEqual(3 * 29);
  });

  it("stops when the main loop has been silent for longer than maxBlockedMs, and goes on when it is back", async () => {
    const side = setUp(2_000);
    side.hold(0);
    await pass(side, 1_500);
    await side.world.advance(2_100);
    const before = side.calls.length;
    expect(before).toBeGreaterThan(0);
    await side.world.advance(20_000);
    expect(side.calls.length).toBe(before);
    await pass(side, 100);
    expect(side.calls.length).toBe(before + 1);
  });

  it("renews nothing beyond the limit that was set for it", async () => {
    const side = setUp();
    side.hold(0);
    side.table.limit(0, side.world.clock.monotonicMs() + 2_500);
    await pass(side, 2_500);
    const before = side.calls.length;
    expect(before).toBe(2);
    await pass(side, 10_000);
    expect(side.calls.length).toBe(before);
  });

  it("tells of a refusal once, and renews that lease no more", async () => {
    const side = setUp();
    side.hold(3);
    side.answer = () => STALE;
    await pass(side, 10_000);
    expect(side.posted).toMatchObject([
      { kind: "refused", slot: 3, version: 1, refusal: { reason: "reclaimed" } },
    ]);
    expect(side.calls.length).toBe(1);
  });

  it("brings a pending cancel, and renews on", async () => {
    const side = setUp();
    side.hold(3);
    side.answer = () => ({ outcome: "applied", lapsedMs: 0, cancelRequested: true });
    await pass(side, 1_100);
    expect(side.posted).toEqual([{ kind: "cancel", slot: 3, version: 1 }]);
    expect(side.table.renewed(3)).toBeDefined();
  });

  it("asks again at its next look after an error or `busy`", async () => {
    const side = setUp();
    side.hold(0);
    let bad = 3;
    side.answer = () => {
      if (bad-- > 1) throw new Error("unreachable");
      return bad === 0 ? { outcome: "busy" } : APPLIED;
    };
    await pass(side, 1_200);
    expect(side.calls.length).toBe(4);
    expect(side.table.renewed(0)).toBeDefined();
  });

  it("never takes what it renewed in a slot for the lease that is there by now", async () => {
    const side = setUp();
    const old = side.hold(0);
    let answered = (): void => {};
    side.answer = () => new Promise((resolve) => (answered = () => resolve(APPLIED)));
    await pass(side, 1_050);
    expect(side.calls).toEqual([[old]]);
    side.table.free(0);
    side.hold(0);
    answered();
    await pass(side, 50);
    expect(side.table.renewed(0)).toBeUndefined();
    side.table.free(0);
    expect(side.table.renewed(0)).toBeUndefined();
  });

  it("sleeps when nothing has been held for a second, and is woken by whoever registers a lease", async () => {
    const side = setUp();
    await pass(side, 1_200);
    expect(side.table.isAsleep()).toBe(true);
    expect(side.world.pendingTimers).toBe(0);
    side.hold(0);
    side.loop.wake();
    expect(side.table.isAsleep()).toBe(false);
    await pass(side, 1_100);
    expect(side.calls.length).toBe(1);
  });

  it("renews everything at once when its clocks have drifted apart (T3), and when it is told to (W7)", async () => {
    const side = setUp();
    side.hold(0);
    side.hold(1);
    await pass(side, 100);
    side.world.stepWall(-60_000);
    await pass(side, 50);
    expect(side.calls.map((call) => call.length)).toEqual([2]);
    await side.loop.renewNow();
    expect(side.calls.map((call) => call.length)).toEqual([2, 2]);
  });

  it("serves further tables, and as many leases as there are", async () => {
    const side = setUp();
    const more = new SlotTable();
    side.loop.addTable(new SlotTable(more.buffer));
    const nowMs = side.world.clock.monotonicMs();
    for (let slot = 0; slot < SLOTS; slot++) {
      side.table.fill(slot, side.world.ids.jobId(), 1, LEASE_MS, nowMs);
      more.fill(slot, side.world.ids.jobId(), 1, LEASE_MS, nowMs);
    }
    await pass(side, 1_200);
    expect(new Set(side.calls.flat()).size).toBe(2 * SLOTS);
    expect(more.renewed(SLOTS - 1)).toBeDefined();
  });

  it("does nothing any more once it is closed", async () => {
    const side = setUp();
    side.hold(0);
    await side.loop.close();
    await pass(side, 5_000);
    expect(side.calls).toEqual([]);
    expect(side.world.pendingTimers).toBe(0);
  });
});
