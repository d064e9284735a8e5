import { describe, expect, it } from "vitest";
import { generation, owner } from "../../src/protocol/identity.ts";
import {
  allowance,
  freeSlotNames,
  isSlotOf,
  type QueueLimit,
  recentStarts,
  type Starts,
  withStarts,
} from "../../src/protocol/limit.ts";
import type { NamedLease } from "../../src/protocol/named-lease.ts";
import { seededRandom } from "../support/seed.ts";

const NOW = 1_700_000_000_000;

function slot(n: number, untilMs: number | null): NamedLease {
  return {
    name: `leasehold:slot:mail/${n}`,
    owner: untilMs === null ? null : owner("w"),
    leaseUntilMs: untilMs,
    leaseMs: 1_000,
    generation: generation(1),
    heldFor: null,
    lastOwner: owner("w"),
    heals: 0,
  };
}

describe("a rate", () => {
  it("is kept in any stretch of its length, however starts are spread", () => {
    const random = seededRandom("rates");
    for (let round = 0; round < 50; round++) {
      const rate = {
        count: 1 + Math.floor(random() * 20),
        perMs: 1 + Math.floor(random() * (round % 2 === 0 ? 500 : 90_000)),
      };
      const limit: QueueLimit = { concurrency: null, rate };
      const began: number[] = [];
      let starts: Starts = [];
      for (let nowMs = NOW; nowMs < NOW + 10 * rate.perMs && began.length < 300; ) {
        const wanted = Math.floor(random() * 8);
        const { jobs } = allowance(limit, starts, [], wanted, nowMs);
        expect(jobs).toBeLessThanOrEqual(wanted);
        if (jobs > 0) starts = withStarts(starts, rate, jobs, nowMs);
        for (let n = 0; n < jobs; n++) began.push(nowMs);
        nowMs += Math.floor(random() * (rate.perMs / 10)) + (random() < 0.5 ? 0 : 1);
      }
      for (const [n, fromMs] of began.entries()) {
        const within = began.slice(n).filter((ms) => ms - fromMs < rate.perMs).length;
        expect(within).toBeLessThanOrEqual(rate.count);
      }
      expect(starts.length).toBeLessThanOrEqual(102);
    }
  });

  it("is used: what waits may begin a hundredth of its length after the oldest start has aged, at the latest", () => {
    const limit = { concurrency: null, rate: { count: 3, perMs: 60_000 } };
    const starts = withStarts([], limit.rate, 3, NOW);
    const { jobs, nextInMs } = allowance(limit, starts, [], 5, NOW + 1);
    expect(jobs).toBe(0);
    expect(nextInMs).toBeLessThanOrEqual(60_600);
    expect(allowance(limit, starts, [], 5, NOW + 1 + (nextInMs as number)).jobs).toBe(3);
    expect(allowance(limit, starts, [], 5, NOW + (nextInMs as number)).jobs).toBe(0);
  });

  it("says nothing of a next start when it holds nobody back", () => {
    const limit = { concurrency: 1, rate: { count: 3, perMs: 60_000 } };
    expect(allowance(limit, [], [slot(1, NOW + 1)], 2, NOW)).toEqual({ jobs: 0, nextInMs: undefined });
  });

  it("is held up by a step back of the clock for no longer than its own length", () => {
    const rate = { count: 2, perMs: 1_000 };
    const starts = withStarts([], rate, 2, NOW);
    const backMs = NOW - 3_600_000;
    const limit = { concurrency: null, rate };
    const { jobs, nextInMs } = allowance(limit, starts, [], 1, backMs);
    expect(jobs).toBe(0);
    expect(nextInMs).toBeLessThanOrEqual(1_010);
    expect(recentStarts(starts, rate, NOW + 7_200_000)).toEqual([]);
  });
});

describe("slots", () => {
  it("are counted while they are held and not lapsed, also those above a limit that was lowered", () => {
    const limit = { concurrency: 3, rate: null };
    const slots = [slot(1, NOW + 1), slot(2, NOW), slot(3, null), slot(7, NOW + 1)];
    expect(allowance(limit, [], slots, 5, NOW).jobs).toBe(1);
    expect(allowance({ ...limit, concurrency: 1 }, [], slots, 5, NOW).jobs).toBe(0);
    expect(freeSlotNames("mail", slots, 2, NOW)).toEqual(["leasehold:slot:mail/2", "leasehold:slot:mail/3"]);
  });

  it("belong to one queue by their names, whatever its name", () => {
    const queues = ["mail", "mail/", "mail/1", "mail0", "%", "%25", "ö", "🙂", " "];
    for (const queue of queues) {
      const [name] = freeSlotNames(queue, [], 1, NOW) as [string];
      expect(queues.filter((other) => isSlotOf(other, { name }))).toEqual([queue]);
    }
  });
});
