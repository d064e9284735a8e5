import { describe, expect, it } from "vitest";
import { manualWorld } from "../../src/clock/manual.ts";
import { type RingEnd, Sleepers } from "../../src/stores/sleepers.ts";
import type { Claimed, ClaimRequest } from "../../src/stores/store.ts";
import { ids } from "./postgres/world.ts";

/** Some who sleep on one store, with room for so many jobs of the queue "a" each. */
function sleepersWith(...rooms: number[]) {
  const world = manualWorld({ seed: 7 });
  const sleepers = new Sleepers(world.timers);
  const wakes = rooms.map(() => 0);
  const listeners = rooms.map((_, n) =>
    sleepers.listen(() => void wakes[n]!++, { queues: ["a"], room: () => rooms[n] ?? 0 }),
  );
  for (const listener of listeners) listener.arm();
  return { world, sleepers, wakes, rooms, listeners };
}

const request = (limit: number): ClaimRequest => ({
  owner: ids.owner(),
  queues: ["a"],
  limit,
  takeover: false,
});

const found = (...queues: string[]): Claimed["jobs"] =>
  queues.map((queue) => ({ job: { queue }, previous: undefined })) as unknown as Claimed["jobs"];

describe("those who sleep on one store", () => {
  it("are woken one for one job, each in turn", async () => {
    const { sleepers, wakes, listeners, world } = sleepersWith(10, 10, 10);
    for (const expected of [
      [1, 0, 0],
      [1, 1, 0],
      [1, 1, 1],
      [2, 1, 1],
    ]) {
      sleepers.ring("a", 1);
      sleepers.asks(request(10))(found("a"));
      for (const listener of listeners) listener.arm();
      await world.advance(1_000);
      expect(wakes).toEqual(expected);
    }
  });

  it("are woken as far as their room is needed", async () => {
    const { sleepers, wakes, world } = sleepersWith(2, 0, 2, 2);
    sleepers.ring("a", 4);
    await world.settle();
    expect(wakes).toEqual([1, 0, 1, 0]);
  });

  it("leave other queues alone", async () => {
    const { sleepers, wakes, world } = sleepersWith(10);
    sleepers.ring("b", 1);
    await world.advance(1_000);
    expect(wakes).toEqual([0]);
  });

  it("are woken by every ring when they do not say what they take", async () => {
    const { sleepers, wakes, world } = sleepersWith(10);
    let rings = 0;
    const listener = sleepers.listen(() => void rings++, undefined);
    for (const queue of ["a", "b"]) {
      listener.arm();
      sleepers.ring(queue, 1);
      await world.settle();
    }
    expect([rings, wakes]).toEqual([2, [1]]);
  });

  it("hear of what a full claim left", async () => {
    const { sleepers, wakes, world } = sleepersWith(10, 10);
    const ends: RingEnd[] = [];
    sleepers.ring("a", 3, (end) => void ends.push(end));
    sleepers.asks(request(2))(found("a", "a"));
    await world.settle();
    expect(wakes).toEqual([1, 1]);
    expect(ends).toEqual([]);
    sleepers.asks(request(2))(found("a"));
    expect(ends).toEqual(["taken"]);
  });

  it("take no claim for an answer that was under way when it rang, nor one that failed, nor a lapsed job", async () => {
    const { sleepers, world } = sleepersWith(10);
    const ends: RingEnd[] = [];
    const underWay = sleepers.asks(request(10));
    sleepers.ring("a", 1, (end) => void ends.push(end));
    underWay([]);
    sleepers.asks(request(10))(undefined);
    const lapsed = found("a").map((one) => ({ ...one, previous: {} })) as unknown as Claimed["jobs"];
    sleepers.asks(request(1))(lapsed);
    await world.settle();
    expect(ends).toEqual([]);
    sleepers.asks(request(10))([]);
    expect(ends).toEqual(["found nothing"]);
  });

  it("are all woken when who was woken sends no claim", async () => {
    const { sleepers, wakes, world } = sleepersWith(10, 10, 10);
    const ends: RingEnd[] = [];
    sleepers.ring("a", 1, (end) => void ends.push(end));
    await world.advance(100);
    expect(wakes).toEqual([1, 1, 1]);
    expect(ends).toEqual(["left over"]);
  });

  it("wait for a slow claim, which more of them would make slower", async () => {
    const { sleepers, wakes, world } = sleepersWith(10, 10);
    sleepers.ring("a", 1);
    const answer = sleepers.asks(request(10));
    await world.advance(5_000);
    expect(wakes).toEqual([1, 0]);
    answer(undefined);
    await world.advance(100);
    expect(wakes).toEqual([1, 1]);
  });

  it("are not called when they are awake, as they look once more before they sleep", async () => {
    const { sleepers, wakes, world, listeners } = sleepersWith(10, 10);
    sleepers.ring("a", 1);
    sleepers.asks(request(10))([]);
    listeners[1]?.close();
    await world.settle();
    sleepers.ring("a", 1); // the first has not armed again
    sleepers.asks(request(10))(found("a"));
    await world.advance(100);
    expect(wakes).toEqual([1, 0]);
  });

  it("may have room for more while they sleep, or less", () => {
    const { sleepers, rooms, listeners } = sleepersWith(1, 2);
    expect(sleepers.roomFor("a")).toBe(3);
    rooms[1] = 0;
    expect(sleepers.roomFor("a")).toBe(1);
    listeners[0]?.close();
    expect(sleepers.roomFor("a")).toBe(0);
  });
});
