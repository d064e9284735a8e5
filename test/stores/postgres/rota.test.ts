import { describe, expect, it } from "vitest";
import { type ManualWorld, manualWorld } from "../../../src/clock/manual.ts";
import { noteTexts, parsed } from "../../../src/stores/postgres/bell-text.ts";
import { Rota } from "../../../src/stores/postgres/rota.ts";
import type { RingEnd } from "../../../src/stores/sleepers.ts";

const QUEUE = "queue";
const WORD_MS = 1;
const CLAIM_MS = 2;

interface Process {
  readonly rota: Rota;
  /** How often somebody in it was woken. */
  comes: number;
  room: number;
  /** Hears nothing, says nothing, claims nothing. */
  isStopped: boolean;
  /** Claims, and then takes so long. */
  claimMs: number;
}

/** Processes that all hear each word in one order, a ms after it was said. */
class Company {
  readonly world: ManualWorld = manualWorld({ seed: 7 });
  readonly all: Process[] = [];
  words = 0;
  /** Jobs that nobody has claimed. */
  due = 0;
  #rings = 0;

  constructor(size: number) {
    for (let n = 0; n < size; n++) this.#add(`p${n}`);
    for (const { rota } of this.all) rota.join();
  }

  #add(me: string): void {
    const { world } = this;
    const process: Process = {
      comes: 0,
      room: 10,
      isStopped: false,
      claimMs: CLAIM_MS,
      rota: new Rota({
        me,
        world,
        room: () => process.room,
        come: (jobs, onEnd) => {
          if (process.isStopped) return;
          process.comes++;
          world.timers.after(process.claimMs, () => onEnd(this.#claim(process, jobs)));
        },
        say: (turn) => {
          if (process.isStopped) return;
          this.words++;
          for (const text of noteTexts(me, new Map([[QUEUE, turn]]))) this.#hear(text);
        },
        hasCompany: () => true,
      }),
    };
    this.all.push(process);
  }

  #claim(process: Process, jobs: number): RingEnd {
    const taken = Math.min(jobs, process.room, this.due);
    this.due -= taken;
    return taken > 0 ? "taken" : "found nothing";
  }

  #hear(text: string): void {
    this.world.timers.after(WORD_MS, () => {
      const note = parsed(text);
      if (note?.kind !== "note") throw new Error(`not a note: ${text}`);
      for (const { rota, isStopped } of this.all)
        if (!isStopped) rota.told(note.from, note.turns.get(QUEUE)!);
    });
  }

  /** Somebody enqueues, and time passes. */
  async ring(jobs: number, ms: number): Promise<void> {
    this.due += jobs;
    const id = `caller.${this.#rings++}`;
    for (const { rota, isStopped } of this.all) if (!isStopped) rota.rung(id, jobs);
    await this.world.advance(ms);
  }

  get comes(): number {
    return this.all.reduce((sum, { comes }) => sum + comes, 0);
  }

  /** Who has come last time, by their places. */
  async whoComes(jobs = 1, ms = 500): Promise<number[]> {
    const before = this.all.map(({ comes }) => comes);
    await this.ring(jobs, ms);
    return this.all.flatMap(({ comes }, n) => (comes > before[n]! ? [n] : []));
  }
}

async function company(size: number): Promise<Company> {
  const company = new Company(size);
  await company.world.advance(5_000); // until all have joined
  return company;
}

describe("of processes that take jobs of one queue", () => {
  it("one comes for each job, at once, and they take turns", async () => {
    const c = await company(50);
    const came = new Set<number>();
    for (let n = 0; n < 200; n++) {
      const before = c.comes;
      await c.ring(1, CLAIM_MS);
      expect(c.due).toBe(0);
      await c.world.advance(300);
      expect(c.comes - before).toBe(1);
      for (const [process, { comes }] of c.all.entries()) if (comes > 0) came.add(process);
    }
    expect(came.size).toBe(50);
  });

  it("each says one word for a job, and nothing while nothing comes", async () => {
    const c = await company(10);
    c.words = 0;
    await c.world.advance(60_000);
    expect(c.words).toBe(0);
    for (let n = 0; n < 20; n++) await c.ring(1, 100);
    expect(c.words).toBe(20);
  });

  it("the next one comes within 30 ms when the first one is stopped, which is not waited for again", async () => {
    const c = await company(10);
    for (const process of c.all.slice(0, 9)) {
      process.isStopped = true;
      for (let n = 0; n < 30; n++) await c.ring(1, 1_000);
      expect(c.due).toBe(0);
      const fromMs = c.world.clock.monotonicMs();
      await c.ring(1, CLAIM_MS);
      expect(c.due).toBe(0);
      expect(c.world.clock.monotonicMs() - fromMs).toBeLessThanOrEqual(CLAIM_MS);
    }
  });

  it("none is waited for long, though all but the last on the list were stopped at once", async () => {
    const c = await company(10);
    for (const process of c.all) process.isStopped = true;
    const alive = c.all[5]!;
    alive.isStopped = false;
    await c.ring(1, 300);
    expect(c.due).toBe(0);
    await c.ring(1, CLAIM_MS);
    expect(c.due).toBe(0);
  });

  it("who has no room passes the job on, and comes again when it has", async () => {
    const c = await company(3);
    for (const process of c.all.slice(0, 2)) process.room = 0;
    for (let n = 0; n < 4; n++) {
      await c.ring(1, 5 * WORD_MS + CLAIM_MS);
      expect(c.due).toBe(0);
    }
    expect(c.all.map(({ comes }) => comes)).toEqual([0, 0, 4]);
    for (const process of c.all) process.room = 10;
    for (const { rota } of c.all) rota.join();
    await c.world.advance(2_000);
    for (let n = 0; n < 30; n++) await c.ring(1, 300);
    for (const { comes } of c.all) expect(comes).toBeGreaterThan(4);
  });

  it("many come for many jobs, and all for a flood", async () => {
    const c = await company(20);
    expect((await c.whoComes(5)).length).toBe(5);
    expect((await c.whoComes(200)).length).toBe(20);
  });

  it("a ring of which it has not heard the answer is not forgotten for another's", async () => {
    const c = await company(2);
    const [first] = await c.whoComes();
    const { [first === 0 ? 1 : 0]: other } = c.all;
    await c.whoComes(1, 1_000);
    for (const process of c.all) process.claimMs = 15;
    // The second ring comes while a claim for the first is under way.
    const before = c.comes;
    await c.ring(1, 5);
    await c.ring(1, 2_000);
    expect(c.due).toBe(0);
    expect(c.comes - before).toBeGreaterThanOrEqual(2);
    expect(other).toBeDefined();
  });

  it("a slow server makes the others wait longer, rather than come as well", async () => {
    const c = await company(20);
    for (const process of c.all) process.claimMs = 200;
    for (let n = 0; n < 20; n++) await c.ring(1, 2_000);
    const before = c.comes;
    for (let n = 0; n < 20; n++) await c.ring(1, 2_000);
    expect(c.comes - before).toBe(20);
  });

  it("a newcomer hears the order from the next word", async () => {
    const c = await company(5);
    c.all[0]!.rota.forget();
    await c.world.advance(2_000);
    for (let n = 0; n < 10; n++) await c.ring(1, 300);
    const before = c.comes;
    for (let n = 0; n < 10; n++) await c.ring(1, 300);
    expect(c.comes - before).toBe(10);
  });

  it("one that has left may come back", async () => {
    const c = await company(2);
    const [back] = c.all;
    back?.rota.join(); // and has not come to say so
    back?.rota.leave();
    await c.world.advance(1_000);
    back?.rota.join();
    await c.world.advance(1_000);
    for (let n = 0; n < 10; n++) await c.ring(1, 300);
    expect(back?.comes).toBeGreaterThan(0);
  });

  it("one that leaves is not waited for", async () => {
    const c = await company(5);
    for (const process of c.all.slice(0, 4)) {
      process.rota.leave();
      await c.world.advance(10);
      process.isStopped = true;
    }
    await c.ring(1, CLAIM_MS);
    expect(c.due).toBe(0);
  });
});

describe("what processes say to each other", () => {
  it("fits into notifications, however many queues there are", () => {
    const list = Array.from({ length: 64 }, (_, n) => `0123456789${n}`);
    const turns = new Map(
      Array.from({ length: 50 }, (_, n) => [`queue${n}`, { order: list, answered: ["a.1"] }]),
    );
    const texts = noteTexts("me", turns);
    const heard = new Map(
      texts.flatMap((text) => {
        expect(text.length).toBeLessThan(8_000);
        const note = parsed(text);
        return note?.kind === "note" ? [...note.turns] : [];
      }),
    );
    expect(heard).toEqual(turns);
  });

  it("is a ring for everybody when it comes from an earlier version, and nothing when it is a listener's own", () => {
    expect(parsed("0123456789ab")).toMatchObject({ kind: "ring", from: "0123456789ab", due: "anything" });
    expect(parsed("?123456")).toBeUndefined();
  });
});
