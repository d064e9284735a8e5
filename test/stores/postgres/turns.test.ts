import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../../src/client/define-job.ts";
import { Leasehold } from "../../../src/client/leasehold.ts";
import { systemWorld } from "../../../src/clock/system.ts";
import type { World } from "../../../src/clock/world.ts";
import { parsed } from "../../../src/stores/postgres/bell-text.ts";
import { Child } from "../../support/child.ts";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import type { PostgresWorld } from "../../support/postgres-harness.ts";
import { missingPostgres } from "../../support/postgres-server.ts";
import { signal } from "../../support/signal.ts";
import { storeOn, worldOf } from "./world.ts";

/** Idle workers do not look by themselves: whatever they claim, they were woken for. */
const NEVER_MS = 3_600_000;

/**
 * Its time runs a hundred times as slow, but for the moment in which processes say that they are there: on a busy machine, too,
 * a claim and word of it are faster than the next one's turn.
 */
function patientWorld(): World {
  const world = systemWorld();
  const fromMs = world.clock.wallMs();
  return {
    ...world,
    clock: {
      monotonicMs: () => world.clock.monotonicMs() / 100,
      wallMs: () => fromMs + (world.clock.wallMs() - fromMs) / 100,
    },
    random: { next: () => world.random.next() / 100 },
    timers: { ...world.timers, after: (ms, fn, options) => world.timers.after(ms * 100, fn, options) },
  };
}

/** Who is on the list of this schema's only queue, as everybody hears it. */
async function listed(world: PostgresWorld): Promise<() => number> {
  const client = new pg.Client({ connectionString: world.url });
  onTestFinished(() => client.end());
  await client.connect();
  let list = new Set<string>();
  client.on("notification", ({ payload = "" }) => {
    const note = parsed(payload);
    if (note?.kind !== "note") return;
    for (const { order } of note.turns.values()) {
      if (order === "joins") list.add(note.from);
      else if (order === "leaves") list.delete(note.from);
      else list = new Set(order);
    }
  });
  await client.query(
    `listen leasehold_${createHash("sha256").update(world.schema).digest("hex").slice(0, 16)}`,
  );
  return () => list.size;
}

interface Crowd {
  readonly world: PostgresWorld;
  /** Enqueues one job after the other, each when the one before was taken; answers how many claims there were meanwhile. */
  run(jobs: number): Promise<number>;
  /** Enqueues them at once, and waits for all. */
  flood(jobs: number): Promise<void>;
  /** Ends one of its workers. */
  leave(): Promise<void>;
}

interface CrowdOptions {
  readonly time?: World;
  readonly concurrency?: number;
  /** Of the worker with this number. */
  readonly handler?: (worker: number) => Promise<void>;
  /** Processes that are no members of it, but on the list. */
  readonly strangers?: number;
}

/** So many workers that share nothing but the server, as processes do. All of them sleep, and know of each other. */
async function crowd(
  size: number,
  { time = patientWorld(), concurrency = 10, handler, strangers = 0 }: CrowdOptions = {},
  world?: PostgresWorld,
): Promise<Crowd> {
  const place = world ?? (await worldOf(18));
  const members = await listed(place);
  let claims = 0;
  let answered = 0;
  let taken = 0;
  const job = defineJob({ name: "job", run: () => {} });
  const workers = Array.from({ length: size }, (_, n) => {
    const run = async (): Promise<void> => handler?.(n);
    const store = storeOn(place, { world: time });
    const claim = store.claim.bind(store);
    store.claim = (...args) => {
      claims++;
      return claim(...args)
        .then((reply) => {
          taken += reply.jobs.length;
          return reply;
        })
        .finally(() => answered++);
    };
    const leasehold = new Leasehold({ store, world: time, log: () => {} });
    return leasehold.work([defineJob({ name: "job", run })], { pollMs: NEVER_MS, concurrency });
  });
  onTestFinished(async () => {
    await Promise.all(workers.map((worker) => worker.stop({ graceMs: 0 })));
  });
  await eventually("all on the list", () => members() === size + strangers);
  await eventually("rest", () => claims >= 2 * size && claims === answered);
  const caller = new Leasehold({ store: storeOn(place), log: () => {} });
  return {
    world: place,
    async run(jobs) {
      const before = claims;
      for (let n = 0; n < jobs; n++) {
        const soFar = taken;
        await caller.enqueue(job);
        await eventually("a job to be taken", () => taken > soFar);
      }
      await eventually("rest", () => claims === answered);
      return claims - before;
    },
    async flood(jobs) {
      const soFar = taken;
      await caller.enqueueMany(Array.from({ length: jobs }, () => ({ job })));
      await eventually("all to be taken", () => taken === soFar + jobs);
    },
    async leave() {
      await workers.shift()?.stop({ graceMs: 0 });
    },
  };
}

/** A real process with an idle worker, that can be stopped. */
async function sleeper(world: PostgresWorld): Promise<Child> {
  const file = fileURLToPath(new URL("sleeper.js", import.meta.url));
  const child = new Child(file, [world.url, world.schema, NEVER_MS]);
  onTestFinished(() => child.kill());
  return child;
}

optional("workers that sleep in many processes on PostgreSQL 18", missingPostgres(18), () => {
  it("claim once for each job that comes, all together", async () => {
    const { run } = await crowd(20);
    // The first few may meet lists that differ still.
    await run(3);
    expect(await run(20)).toBeLessThanOrEqual(25);
  });

  it("take each job for which the first ones have no room", async () => {
    const end = signal();
    onTestFinished(() => end.give());
    const { run } = await crowd(8, { concurrency: 1, handler: () => end.given });
    expect(await run(8)).toBeLessThanOrEqual(24);
  });

  it("all come for many jobs", async () => {
    const came = new Set<number>();
    const all = signal();
    const { flood } = await crowd(8, {
      concurrency: 5,
      handler(worker) {
        if (came.add(worker).size === 8) all.give();
        return all.given;
      },
    });
    await flood(60);
  });

  it("do not wait for those that have been stopped and left", async () => {
    const { run, leave } = await crowd(6);
    for (let n = 0; n < 5; n++) {
      await leave();
      await run(3);
    }
  });

  describe("of which one stands still (SIGSTOP)", () => {
    it("begin every job without it", async () => {
      const world = await worldOf(18);
      const child = await sleeper(world);
      const { run } = await crowd(2, { time: systemWorld(), strangers: 1 }, world);
      child.process.kill("SIGSTOP");
      await run(10);
      child.process.kill("SIGCONT");
      expect(child.all("began")).toEqual([]);
    });
  });

  describe("of which one is killed", () => {
    it("begin every job without it", async () => {
      const world = await worldOf(18);
      const child = await sleeper(world);
      const { run } = await crowd(2, { time: systemWorld(), strangers: 1 }, world);
      await child.kill();
      await run(10);
    });
  });
});
