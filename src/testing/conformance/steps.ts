import assert from "node:assert/strict";
import { UnknownOutcomeError } from "../../errors.ts";
import type { Fence, JobId } from "../../protocol/identity.ts";
import { MAX_STEPS, STEPS_PER_PRUNE, type StepChange, type StepRecord } from "../../protocol/step.ts";
import type { RunWriteAnswer, Store } from "../../stores/store.ts";
import { faultStore } from "../fault-store.ts";
import {
  assertAfterNow,
  assertHas,
  claimOne,
  complete,
  fail,
  fenceOf,
  gen,
  LAPSE_MS,
  leased,
  newId,
  newOwner,
  nth,
  OPTIONS,
  reclaimed,
  release,
  row,
  settled,
} from "./fixtures.ts";
import { type Chapter, test } from "./harness.ts";

type Has = { readonly store: Store };

const begun = (after: StepRecord | null = null): StepChange => ({
  state: "begun",
  after: after === null ? null : after.generation,
});
const done = (result: string | null = null): StepChange => ({ state: "done", result });
const failed = (error = '{"message":"no stamp"}'): StepChange => ({ state: "failed", error });

async function write(
  { store }: Has,
  fence: Fence,
  step: string,
  change: StepChange,
): Promise<RunWriteAnswer> {
  return nth(await store.write([{ fence, step, change }], OPTIONS), 0);
}

async function written(world: Has, fence: Fence, step: string, change: StepChange): Promise<void> {
  const answer = await write(world, fence, step, change);
  assert.deepEqual(answer, { outcome: "applied" }, `${step} becomes ${change.state}`);
}

function stepsOf(
  { store }: Has,
  id: JobId,
  run: number | "present" = "present",
): Promise<readonly StepRecord[]> {
  return store.steps(id, run, OPTIONS);
}

async function only(world: Has, id: JobId): Promise<StepRecord> {
  const steps = await stepsOf(world, id);
  assert.equal(steps.length, 1, `one step is there, not ${steps.length}`);
  return steps[0] as StepRecord;
}

export const stepsChapter: Chapter = {
  name: "steps",
  tests: [
    test("C8 a step is begun and then done by its owner, and tells both moments", async (world) => {
      const fence = await leased(world);
      const { owner, generation } = fence;
      await assertAfterNow(world, 0, async () => {
        await written(world, fence, "charge", begun());
        return (await only(world, fence.jobId)).begunAtMs;
      });
      assertHas(await only(world, fence.jobId), {
        step: "charge",
        run: 1,
        state: "begun",
        owner,
        generation,
        attempt: 1,
        endedAtMs: null,
        result: null,
        error: null,
      });
      const { begunAtMs } = await only(world, fence.jobId);
      await assertAfterNow(world, 0, async () => {
        await written(world, fence, "charge", done('{"paid":7}'));
        return (await only(world, fence.jobId)).endedAtMs;
      });
      assertHas(await only(world, fence.jobId), { state: "done", begunAtMs, result: '{"paid":7}' });
    }),

    test("C8 a step may be done without having been begun, and with no result", async (world) => {
      const fence = await leased(world);
      await written(world, fence, "idempotent", done());
      assertHas(await only(world, fence.jobId), { state: "done", begunAtMs: null, result: null });
    }),

    test("C8 steps of several jobs, progress and log lines go in one call, an outcome for each", async (world) => {
      const [one, other] = [await leased(world, { queue: "a" }), await leased(world, { queue: "b" })];
      const nobody = { ...one, jobId: newId() };
      const answers = await world.store.write(
        [
          { fence: one, step: "s", change: begun() },
          { fence: other, step: "s", change: done("1") },
          { fence: nobody, step: "s", change: begun() },
          { fence: { ...other, generation: gen(0) }, step: "t", change: begun() },
          { fence: one, progress: '"half"' },
          { fence: one, step: "s", change: done("2") },
          { fence: one, log: "said" },
        ],
        OPTIONS,
      );
      assert.deepEqual(
        answers.map(({ outcome }) => outcome),
        ["applied", "applied", "gone", "stale", "applied", "applied", "applied"],
      );
      assertHas(await only(world, one.jobId), { state: "done", result: "2" });
      assertHas(await only(world, other.jobId), { state: "done", result: "1" });
      assert.equal((await row(world, one.jobId)).progress, '"half"');
    }),

    test("C8 a step of a lapsed lease is still its owner's while nobody has claimed since", async (world) => {
      const fence = await leased(world);
      await world.lapse(fence.jobId, LAPSE_MS);
      await written(world, fence, "late", done("1"));
    }),

    test("C8 a replaced owner writes no step, neither a new one nor over one of its own", async (world) => {
      const a = await leased(world);
      await written(world, a, "begun", begun());
      await world.lapse(a.jobId, LAPSE_MS);
      const b = fenceOf(await claimOne(world, newOwner()));
      const before = await stepsOf(world, a.jobId);
      for (const step of ["begun", "new"]) {
        for (const change of [begun(), done('"late"'), failed()]) {
          const answer = await write(world, a, step, change);
          assertHas(answer, { outcome: "stale", generation: b.generation, reason: "reclaimed" });
        }
      }
      assert.deepEqual(await stepsOf(world, a.jobId), before);
      const refused = (await world.store.journal(`job:${a.jobId}`, OPTIONS)).filter(
        ({ kind }) => kind === "refused",
      );
      assert.deepEqual(
        refused.map(({ operation, count }) => [operation, count]),
        [["step", 6]],
      );
    }),

    test("C8 the same generation under another owner writes no step", async (world) => {
      const fence = await leased(world);
      const answer = await write(world, { ...fence, owner: newOwner() }, "s", done());
      assertHas(answer, { outcome: "stale", reason: "other_owner" });
      assert.deepEqual(await stepsOf(world, fence.jobId), []);
    }),

    test("C8 a run that has lost its resource writes no step", async (world) => {
      const { a, b } = await reclaimed(world, { resource: "account:42" });
      assertHas(await write(world, a, "s", done()), { outcome: "stale" });
      await written(world, b, "s", done("1"));
      assert.equal((await only(world, b.jobId)).generation, b.generation);
    }),

    test("C8 an ended run writes no step", async (world) => {
      const fence = await leased(world);
      await settled(world, complete(fence));
      assertHas(await write(world, fence, "s", done()), { outcome: "stale", state: "completed" });
      assert.deepEqual(await stepsOf(world, fence.jobId), []);
    }),

    test("C18 the next owner finds what is done and what was begun, and by whom", async (world) => {
      const a = await leased(world);
      await written(world, a, "one", begun());
      await written(world, a, "one", done('"first"'));
      await written(world, a, "two", begun());
      await world.lapse(a.jobId, LAPSE_MS);
      const b = fenceOf(await claimOne(world, newOwner()));
      const [one, two] = (await stepsOf(world, a.jobId)).toSorted((x, y) => (x.step < y.step ? -1 : 1));
      assertHas(one, { step: "one", state: "done", result: '"first"', owner: a.owner });
      assertHas(two, { step: "two", state: "begun", generation: a.generation, attempt: 1 });
      // Whoever has not seen it does not begin it; whoever has, may.
      assert.deepEqual(await write(world, b, "two", begun()), { outcome: "conflict", step: two });
      assert.deepEqual(await write(world, b, "one", begun()), { outcome: "conflict", step: one });
      assert.deepEqual(await write(world, b, "one", begun(nth([one as StepRecord], 0))), {
        outcome: "conflict",
        step: one,
      });
      assert.deepEqual(await write(world, b, "one", done('"second"')), { outcome: "conflict", step: one });
      await written(world, b, "two", begun(two));
      assertHas(
        (await stepsOf(world, a.jobId)).find(({ step }) => step === "two"),
        {
          state: "begun",
          owner: b.owner,
          generation: b.generation,
          attempt: 2,
        },
      );
      await written(world, b, "two", done("2"));
    }),

    test("C18 a begun step may be found to be done by the next owner without being begun again", async (world) => {
      const a = await leased(world);
      await written(world, a, "s", begun());
      const { begunAtMs } = await only(world, a.jobId);
      await world.lapse(a.jobId, LAPSE_MS);
      const b = fenceOf(await claimOne(world, newOwner()));
      await written(world, b, "s", done('"found"'));
      assertHas(await only(world, a.jobId), { state: "done", begunAtMs, generation: b.generation });
    }),

    test("C18 a failed step keeps what was thrown, and is begun again by the next owner alone", async (world) => {
      const a = await leased(world);
      await written(world, a, "s", begun());
      await written(world, a, "s", failed('{"message":"no ink"}'));
      const record = await only(world, a.jobId);
      assertHas(record, { state: "failed", error: '{"message":"no ink"}', result: null });
      // A beginning that arrives late, behind the failure.
      assert.deepEqual(await write(world, a, "s", begun()), { outcome: "conflict", step: record });
      await settled(world, fail(a));
      const b = fenceOf(await claimOne(world, newOwner()));
      assert.deepEqual(await write(world, b, "s", begun()), { outcome: "conflict", step: record });
      await written(world, b, "s", begun(record));
      assertHas(await only(world, a.jobId), { state: "begun", error: null, endedAtMs: null });
    }),

    test("C18 nobody calls a step failed that somebody else began, or that is done", async (world) => {
      const a = await leased(world);
      await written(world, a, "one", begun());
      await written(world, a, "two", done("1"));
      assertHas(await write(world, a, "two", failed()), { outcome: "conflict" });
      await settled(world, release(a));
      const b = fenceOf(await claimOne(world, newOwner()));
      assertHas(await write(world, b, "one", failed()), { outcome: "conflict" });
      const states = (await stepsOf(world, a.jobId)).map(({ step, state }) => `${step} ${state}`);
      assert.deepEqual(states.toSorted(), ["one begun", "two done"]);
    }),

    test("C9 a step's write whose reply was lost is `already` when it is repeated", async (world) => {
      const fence = await leased(world);
      for (const [step, changes] of [
        ["one", [begun(), done("1")]],
        ["two", [begun(), failed()]],
        ["three", [done()]],
      ] as const) {
        for (const change of changes) {
          const store = faultStore(world.store, ({ number }) => (number === 1 ? "drop reply" : "none"));
          await assert.rejects(write({ store }, fence, step, change), UnknownOutcomeError);
          const before = await stepsOf(world, fence.jobId);
          assert.deepEqual(await write({ store }, fence, step, change), { outcome: "already" });
          assert.deepEqual(await stepsOf(world, fence.jobId), before);
        }
      }
    }),

    test("C9 a step's write whose request was lost is applied when it is repeated", async (world) => {
      const fence = await leased(world);
      const store = faultStore(world.store, ({ number }) => (number === 1 ? "drop request" : "none"));
      await assert.rejects(write({ store }, fence, "s", begun()), UnknownOutcomeError);
      await written({ store }, fence, "s", begun());
    }),

    test("C9 a beginning that arrives after its step is done changes nothing", async (world) => {
      const fence = await leased(world);
      await written(world, fence, "s", begun());
      await written(world, fence, "s", done("1"));
      const record = await only(world, fence.jobId);
      assert.deepEqual(await write(world, fence, "s", begun()), { outcome: "conflict", step: record });
      assert.deepEqual(await only(world, fence.jobId), record);
    }),

    test("C18 a retry keeps the steps, one with `again` begins without any", async (world) => {
      const { store } = world;
      const fence = await leased(world);
      await written(world, fence, "s", done('"first"'));
      await settled(world, complete(fence));
      await store.retry([fence.jobId], false, OPTIONS);
      assertHas(await only(world, fence.jobId), { run: 1, result: '"first"' });
      const second = fenceOf(await claimOne(world, newOwner()));
      await settled(world, complete(second));
      await store.retry([fence.jobId], true, OPTIONS);
      assert.deepEqual(await stepsOf(world, fence.jobId), []);
      const third = fenceOf(await claimOne(world, newOwner()));
      await written(world, third, "s", begun());
      assertHas(await only(world, fence.jobId), { run: 2, state: "begun" });
      const before = await stepsOf(world, fence.jobId, 1);
      assert.deepEqual(
        before.map(({ run, result }) => [run, result]),
        [[1, '"first"']],
      );
    }),

    test("C18 steps survive a release, a revoke and a lapse", async (world) => {
      const { store } = world;
      let fence = await leased(world);
      await written(world, fence, "s", done('"first"'));
      for (const loses of [
        () => settled(world, release(fence)),
        () => store.revoke([fence.jobId], OPTIONS),
        () => world.lapse(fence.jobId, LAPSE_MS),
      ]) {
        await loses();
        fence = fenceOf(await claimOne(world, newOwner()));
        assertHas(await only(world, fence.jobId), { state: "done", result: '"first"', attempt: 1 });
      }
    }),

    test("D4 a step's name is a text like any other, and two never become one", async (world) => {
      const fence = await leased(world);
      const names = ["a", "A", "a ", "ä", "a\u0308", "';--", "%", "_", "🜁", "{}", "null", "x".repeat(200)];
      for (const name of names) await written(world, fence, name, done(JSON.stringify(name)));
      const steps = await stepsOf(world, fence.jobId);
      assert.deepEqual(steps.map(({ step }) => step).toSorted(), names.toSorted());
      for (const { step, result } of steps) assert.equal(result, JSON.stringify(step));
    }),

    test("a step's result of 1 MiB comes back as it was", async (world) => {
      const fence = await leased(world);
      const result = JSON.stringify("ä\\u0000\n🜁".repeat(80_000));
      await written(world, fence, "s", done(result));
      assert.equal((await only(world, fence.jobId)).result, result);
    }),

    test("steps of a job that is not there are none", async (world) => {
      assert.deepEqual(await stepsOf(world, newId()), []);
      assert.deepEqual(await stepsOf(world, newId(), 1), []);
    }),

    test("C14 steps go with their job, and one that is enqueued under its id again has none", async (world) => {
      const { store } = world;
      for (const removes of [
        (id: JobId) => store.delete([id], OPTIONS),
        () => store.prune({ completedMs: 0, failedMs: 0 }, 10, OPTIONS),
      ]) {
        const jobId = newId();
        const fence = await leased(world, { jobId, mayRepeat: true });
        await written(world, fence, "s", done());
        assert.equal((await only(world, jobId)).step, "s");
        await settled(world, complete(fence));
        await removes(jobId);
        assert.deepEqual(await stepsOf(world, jobId, 1), []);
        const again = await leased(world, { jobId, mayRepeat: true });
        assert.deepEqual(await stepsOf(world, jobId), []);
        await written(world, again, "s", begun());
        await settled(world, complete(again));
        await store.delete([jobId], OPTIONS);
      }
    }),

    test("C14 a pruning takes fewer jobs when they have very many steps, and comes to all of them", async (world) => {
      const { store } = world;
      const jobs = STEPS_PER_PRUNE / MAX_STEPS + 2;
      for (let n = 0; n < jobs; n++) {
        const fence = await leased(world);
        const writes = Array.from({ length: MAX_STEPS }, (_, i) => ({
          fence,
          step: `page ${i}`,
          change: done(),
        }));
        const answers = await store.write(writes, OPTIONS);
        assert.ok(answers.every(({ outcome }) => outcome === "applied"));
        await settled(world, complete(fence));
      }
      const prune = (): Promise<number> => store.prune({ completedMs: 0, failedMs: 0 }, 500, OPTIONS);
      assert.equal(await prune(), jobs - 2);
      assert.equal(await prune(), 2);
      assert.equal(await prune(), 0);
    }),

    test("an operator says what became of a step, and the journal keeps that", async (world) => {
      const { store } = world;
      const resolve = (id: JobId, step: string, result?: string): Promise<{ readonly outcome: string }> =>
        store.resolveStep(id, step, result === undefined ? { done: false } : { done: true, result }, OPTIONS);
      const a = await leased(world);
      await written(world, a, "one", begun());
      await written(world, a, "two", begun());
      assertHas(await resolve(a.jobId, "one", "1"), { outcome: "conflict" });
      await settled(world, fail(a, "final"));
      assert.deepEqual(await resolve(a.jobId, "one", "1"), { outcome: "applied" });
      assert.deepEqual(await resolve(a.jobId, "two"), { outcome: "applied" });
      assertHas(await resolve(a.jobId, "one"), { outcome: "conflict" });
      assert.deepEqual(await resolve(a.jobId, "three"), { outcome: "gone" });
      assert.deepEqual(await resolve(newId(), "one"), { outcome: "gone" });
      await store.retry([a.jobId], false, OPTIONS);
      const b = fenceOf(await claimOne(world, newOwner()));
      const [one, two] = (await stepsOf(world, a.jobId)).toSorted((x, y) => (x.step < y.step ? -1 : 1));
      assertHas(one, { state: "done", result: "1", owner: null });
      assertHas(two, { state: "failed", error: null, owner: null });
      await written(world, b, "two", begun(two));
      const said = (await store.journal(`job:${a.jobId}`, OPTIONS)).filter(({ kind }) => kind === "log");
      assert.deepEqual(
        said.map(({ message }) => message),
        [
          'an operator said that the step "one" was done',
          'an operator said that the step "two" was not done',
        ],
      );
    }),
  ],
};
