import { beforeEach, describe, expect, it } from "vitest";
import { type ManualWorld, manualWorld } from "../../../src/clock/manual.ts";
import { instant } from "../../../src/worker/held-lease.ts";
import type { Deadline } from "../../../src/worker/isolation/messages.ts";
import { TrustCell } from "../../../src/worker/isolation/trust-cell.ts";
import { Watchdog } from "../../../src/worker/isolation/watchdog.ts";

let world: ManualWorld;
let cell: TrustCell;
let kills: number;
let watchdog: Watchdog;

beforeEach(() => {
  world = manualWorld();
  cell = new TrustCell();
  kills = 0;
  watchdog = new Watchdog(world, cell, () => kills++);
});

function deadline(run: number): Deadline {
  return { run, sent: instant(world.clock), leaseMs: 1_000, marginMs: 100, graceMs: 500 };
}

describe("the watchdog of an isolated process", () => {
  it("kills when lease and grace have passed since the renewal that was heard of last", async () => {
    watchdog.set(deadline(1));
    await world.advance(1_400);
    watchdog.set(deadline(1));
    await world.advance(1_499);
    expect(kills).toBe(0);
    await world.advance(1);
    expect(kills).toBe(1);
  });

  it("leaves a process alone whose run has ended, until the next one begins", async () => {
    watchdog.set(deadline(1));
    cell.end(1);
    await world.advance(10_000);
    expect(kills).toBe(0);
    watchdog.set(deadline(2));
    await world.advance(1_500);
    expect(kills).toBe(1);
  });

  it("tells the main loop of a renewal only for the run that it was of", () => {
    const second = deadline(2);
    watchdog.set(second);
    expect(cell.reported(2)).toEqual(second.sent);
    expect(cell.reported(1)).toBeUndefined();
  });
});
