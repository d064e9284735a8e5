import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { UnknownOutcomeError } from "../../src/errors.ts";
import { isEnded } from "../../src/protocol/job.ts";
import { seed } from "../support/seed.ts";
import { testWorld } from "./world.ts";

/** What may happen, in any order: each number is an amount of its step. */
const step = fc.oneof(
  fc.record({ do: fc.constant("enqueue" as const), n: fc.integer({ min: 1, max: 30 }) }),
  fc.record({ do: fc.constant("pass" as const), n: fc.integer({ min: 1, max: 1_500 }) }),
  fc.record({ do: fc.constant("cut" as const), n: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ do: fc.constant("mend" as const), n: fc.constant(0) }),
  fc.record({ do: fc.constant("freeze" as const), n: fc.integer({ min: 1, max: 3_000 }) }),
  fc.record({ do: fc.constant("stepWall" as const), n: fc.integer({ min: -5_000, max: 5_000 }) }),
  fc.record({ do: fc.constant("cancel" as const), n: fc.nat(100) }),
  fc.record({ do: fc.constant("revoke" as const), n: fc.nat(100) }),
  fc.record({ do: fc.constant("stop" as const), n: fc.integer({ min: 0, max: 2_000 }) }),
  fc.record({ do: fc.constant("kill" as const), n: fc.constant(0) }),
);

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** What the handler does with each job, drawn from its input: returns, throws, takes its time, ignores its signal. */
function behaviour(input: number): {
  readonly ms: number;
  readonly throws: boolean;
  readonly heeds: boolean;
} {
  return { ms: [0, 0, 5, 90, 700, 1_900][input % 6]!, throws: input % 7 === 0, heeds: input % 5 !== 0 };
}

async function play(steps: readonly Step[]): Promise<void> {
  const t = testWorld();
  const { world, store, leasehold } = t;
  const job = defineJob({
    name: "job",
    leaseMs: 600,
    maxAttempts: 50,
    backoff: { kind: "fixed", baseMs: 20, jitter: "none" },
    async run({ input, signal }: { input: number; signal: AbortSignal }) {
      const { ms, throws, heeds } = behaviour(input);
      await world.timers.sleep(ms, heeds ? signal : undefined);
      if (throws && Math.floor(world.clock.monotonicMs()) % 2 === 0) throw new Error("now and then");
      return input;
    },
  });
  const ids: string[] = [];
  let mends: (() => void)[] = [];
  let process = t.mortal();
  let worker = process.leasehold.work([job], { concurrency: 4, graceMs: 200, pollMs: 20 });
  const stopping: Promise<void>[] = [];

  for (const { do: what, n } of steps) {
    if (what === "enqueue") {
      const entries = Array.from({ length: n }, (_, i) => ({ job, input: ids.length + i }));
      ids.push(...(await leasehold.enqueueMany(entries)).map(({ jobId }) => jobId));
    } else if (what === "pass") {
      await world.advance(n);
    } else if (what === "cut") {
      const method = (["claim", "settle", "renew", "settle"] as const)[n]!;
      const fault = (): never => {
        throw new UnknownOutcomeError(method, new Error("cut"));
      };
      mends.push(n % 2 === 0 ? store.before(method, fault) : store.after(method, fault));
    } else if (what === "mend") {
      for (const mend of mends.splice(0)) mend();
    } else if (what === "freeze") {
      world.freeze();
      await world.advance(n);
      world.thaw();
    } else if (what === "stepWall") {
      world.stepWall(n);
    } else if (what === "cancel" || what === "revoke") {
      const id = ids[n % Math.max(1, ids.length)];
      if (id !== undefined) await leasehold[what](id);
    } else {
      if (what === "stop") stopping.push(worker.stop({ graceMs: n }));
      else process.kill();
      process = t.mortal();
      worker = process.leasehold.work([job], { concurrency: 4, graceMs: 200, pollMs: 20 });
    }
  }

  // Calm: everything heals, and every job must come to its end.
  for (const mend of mends.splice(0)) mend();
  mends = [];
  for (let i = 0; i < 200; i++) {
    await world.advance(500);
    const [counts] = await leasehold.counts();
    if (counts === undefined || counts.ready + counts.leased === 0) break;
  }
  stopping.push(worker.stop());
  await world.advance(10_000);
  await Promise.all(stopping);

  for (const [i, view] of (await leasehold.getMany(ids)).entries()) {
    expect(view !== undefined && isEnded(view)).toBe(true);
    if (view?.state === "completed") expect(view.result).toBe(i);
    const ends = (await leasehold.journal(ids[i]!)).filter(({ kind }) =>
      ["completed", "failed", "cancelled"].includes(kind),
    );
    expect(ends.length).toBe(1);
  }
}

describe("a worker among faults", () => {
  it("brings every job to exactly one end, whatever happens in whatever order", {
    timeout: 120_000,
  }, async () => {
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), play), {
      seed,
      numRuns: 60,
      interruptAfterTimeLimit: 60_000,
    });
  });
});
