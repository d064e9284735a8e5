import assert from "node:assert/strict";
import type { NewJob } from "../../protocol/enqueue.ts";
import {
  assertHas,
  claim,
  claimedIds,
  claimOne,
  complete,
  enqueued,
  fail,
  fenceOf,
  journalOf,
  LAPSE_MS,
  leased,
  newJob,
  newOwner,
  OPTIONS,
  release,
  row,
  settled,
  twoHandles,
} from "./fixtures.ts";
import { type Chapter, test } from "./harness.ts";

const keep: Partial<NewJob> = { unique: { key: "letter-1", onConflict: "keep" } };
const refuse: Partial<NewJob> = { unique: { key: "letter-1", onConflict: "throw" } };
const replace: Partial<NewJob> = { unique: { key: "letter-1", onConflict: "replace" } };

export const uniqueKeys: Chapter = {
  name: "unique keys",
  tests: [
    test("C17 *keep* answers with the job that holds the key, and writes nothing", async (world) => {
      const holder = await enqueued(world, keep);
      const other = newJob(keep);
      assert.deepEqual(await world.store.enqueue([other], OPTIONS), [
        { outcome: "kept", jobId: holder, state: "ready" },
      ]);
      assert.deepEqual(await world.store.get([other.jobId], OPTIONS), [undefined]);
    }),

    test("C17 *throw* answers `conflict` with the holder, and writes nothing", async (world) => {
      const fence = await leased(world, refuse);
      const other = newJob(refuse);
      assert.deepEqual(await world.store.enqueue([other], OPTIONS), [
        { outcome: "conflict", jobId: fence.jobId, state: "leased" },
      ]);
      assert.deepEqual(await world.store.get([other.jobId], OPTIONS), [undefined]);
    }),

    test("C17 *replace* changes a job that nobody has claimed yet in its place", async (world) => {
      const holder = await enqueued(world, replace);
      const later = await enqueued(world);
      const { seq } = await row(world, holder);
      const change = newJob({
        ...replace,
        input: '"new"',
        maxAttempts: 2,
        leaseMs: 90_000,
        maxRunMs: 5_000,
        resource: "desk",
      });
      assert.deepEqual(await world.store.enqueue([change], OPTIONS), [
        { outcome: "replaced", jobId: holder },
      ]);
      assertHas(await row(world, holder), {
        jobId: holder,
        seq,
        input: '"new"',
        maxAttempts: 2,
        leaseMs: 90_000,
        maxRunMs: 5_000,
        resource: "desk",
        generation: 0,
        state: "ready",
      });
      assert.deepEqual(await world.store.get([change.jobId], OPTIONS), [undefined]);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [holder, later]);
    }),

    test("the journal tells of a replacement, in place or by a new job", async (world) => {
      const told = async (id: Parameters<typeof journalOf>[1]): Promise<boolean> =>
        (await journalOf(world, id)).some(({ kind }) => kind === "replaced");
      const holder = await enqueued(world, replace);
      await world.store.enqueue([newJob(replace)], OPTIONS);
      assert.ok(await told(holder), "in place");
      await settled(world, release(fenceOf(await claimOne(world, newOwner()))));
      const [answer] = await world.store.enqueue([newJob(replace)], OPTIONS);
      assertHas(answer, { outcome: "enqueued", ended: holder });
      assert.equal((await journalOf(world, holder)).at(-1)?.kind, "replaced");
    }),

    test("C17 *replace* may delay a waiting job, move it to another queue, and hasten it", async (world) => {
      const holder = await enqueued(world, replace);
      await world.store.enqueue(
        [newJob({ ...replace, due: { delayMs: 60_000 }, queue: "parcels" })],
        OPTIONS,
      );
      assert.deepEqual(claimedIds(await claim(world, newOwner(), { queues: ["letters", "parcels"] })), []);
      await world.store.enqueue([newJob({ ...replace, queue: "parcels" })], OPTIONS);
      assert.deepEqual(claimedIds(await claim(world, newOwner(), { queues: ["parcels"] })), [holder]);
    }),

    test("C17 *replace* ends a waiting job that was claimed before, and enqueues anew", async (world) => {
      const fence = await leased(world, replace);
      await settled(world, release(fence));
      const next = newJob({ ...replace, input: '"new"' });
      assert.deepEqual(await world.store.enqueue([next], OPTIONS), [
        { outcome: "enqueued", jobId: next.jobId, ended: fence.jobId },
      ]);
      assertHas(await row(world, fence.jobId), { state: "cancelled", endReason: "replaced", generation: 1 });
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [next.jobId]);
    }),

    test("C17 *replace* leaves a leased job alone, and says so", async (world) => {
      const fence = await leased(world, replace);
      const before = await row(world, fence.jobId);
      const answers = await world.store.enqueue([newJob({ ...replace, input: '"new"' })], OPTIONS);
      assert.deepEqual(answers, [{ outcome: "kept", jobId: fence.jobId, state: "leased" }]);
      assert.deepEqual(await row(world, fence.jobId), before);
    }),

    test("C17 a job whose lease has expired still holds its key", async (world) => {
      const fence = await leased(world, keep);
      await world.lapse(fence.jobId, LAPSE_MS);
      await claim(world, newOwner(), { takeover: false });
      for (const again of [keep, replace]) {
        const [answer] = await world.store.enqueue([newJob(again)], OPTIONS);
        assert.deepEqual(answer, { outcome: "kept", jobId: fence.jobId, state: "leased" });
      }
      await settled(world, complete(fence));
    }),

    test("C17 a job that waits for its next attempt still holds its key", async (world) => {
      const fence = await leased(world, keep);
      await settled(world, fail(fence, 60_000));
      assertHas((await world.store.enqueue([newJob(keep)], OPTIONS))[0], {
        outcome: "kept",
        jobId: fence.jobId,
      });
    }),

    test("C17 every end frees the key in the statement that ends the job", async (world) => {
      const ends: ((id: ReturnType<typeof newJob>["jobId"]) => Promise<unknown>)[] = [
        async () => settled(world, complete(fenceOf(await claimOne(world, newOwner())))),
        async () => settled(world, fail(fenceOf(await claimOne(world, newOwner())), "final")),
        async (id) => world.store.cancel([id], OPTIONS),
        async (id) => world.store.delete([id], OPTIONS),
        async (id) => {
          await claimOne(world, newOwner());
          await world.lapse(id, LAPSE_MS);
          assert.equal((await claim(world, newOwner())).ended.length, 1);
        },
      ];
      for (const end of ends) await end(await enqueued(world, { ...refuse, maxAttempts: 1 }));
      await enqueued(world, refuse);
    }),

    test("C17 a key belongs to a job name: another name or another key is free", async (world) => {
      await enqueued(world, refuse);
      await enqueued(world, { ...refuse, name: "send-parcel" });
      await enqueued(world, { unique: { key: "letter-2", onConflict: "throw" } });
      await enqueued(world, { unique: { key: "Letter-1", onConflict: "throw" } });
    }),

    test("C17 jobs without a key never conflict", async (world) => {
      for (let n = 0; n < 3; n += 1) await enqueued(world);
      assert.equal((await claim(world, newOwner())).jobs.length, 3);
    }),

    test("C17 the same key twice in one batch is one job", async (world) => {
      const [first, second] = [newJob(keep), newJob(keep)];
      assert.deepEqual(await world.store.enqueue([first, second], OPTIONS), [
        { outcome: "enqueued", jobId: first.jobId },
        { outcome: "kept", jobId: first.jobId, state: "ready" },
      ]);
    }),

    test("C17 in a batch a conflict of one member leaves the others enqueued", async (world) => {
      const holder = await enqueued(world, refuse);
      const [a, b] = [newJob(), newJob()];
      assert.deepEqual(await world.store.enqueue([a, newJob(refuse), b], OPTIONS), [
        { outcome: "enqueued", jobId: a.jobId },
        { outcome: "conflict", jobId: holder, state: "ready" },
        { outcome: "enqueued", jobId: b.jobId },
      ]);
    }),

    test("C17 of many who enqueue one key at once exactly one makes a job, and all others hear of it", async (world) => {
      const [here, there] = await twoHandles(world);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? here : there).enqueue([newJob(keep)], OPTIONS)),
      );
      const made = answers.flat().filter(({ outcome }) => outcome === "enqueued");
      assert.equal(made.length, 1);
      assert.ok(answers.flat().every(({ jobId }) => jobId === made[0]?.jobId));
    }),

    test("C17 of four who meet the key of a transaction that rolls back one makes the job, and all hear of that one", async (world) => {
      const [here, there] = await twoHandles(world);
      const caller = await world.begin();
      const undone = newJob(keep);
      assertHas((await here.enqueue([undone], { ...OPTIONS, tx: caller.tx }))[0], { outcome: "enqueued" });
      const others = Array.from({ length: 4 }, () => newJob(keep));
      // Nobody may be answered while the transaction is open: what it has written may yet be undone.
      let answered = 0;
      const asked = others.map(async (job, n) => {
        const answers = await (n % 2 === 0 ? here : there).enqueue([job], OPTIONS);
        answered += 1;
        return answers[0];
      });
      await world.read("whatever");
      assert.equal(answered, 0);
      await caller.rollback();
      const answers = await Promise.all(asked);
      assert.deepEqual(answers.map((answer) => answer?.outcome).toSorted(), [
        "enqueued",
        "kept",
        "kept",
        "kept",
      ]);
      const [made] = claimedIds(await claim(world, newOwner()));
      assert.ok(answers.every((answer) => answer?.jobId === made));
      assert.notEqual(made, undone.jobId);
    }),

    test("C1 a repeated job id is that job, whatever has become of its key", async (world) => {
      const job = newJob({ ...refuse, mayRepeat: true });
      await world.store.enqueue([job], OPTIONS);
      assertHas((await world.store.enqueue([job], OPTIONS))[0], { outcome: "repeated", state: "ready" });
      await settled(world, complete(fenceOf(await claimOne(world, newOwner()))));
      await enqueued(world, refuse);
      assertHas((await world.store.enqueue([job], OPTIONS))[0], { outcome: "repeated", state: "completed" });
    }),

    test("C18 a retry is a conflict while another live job holds the key", async (world) => {
      const fence = await leased(world, keep);
      await settled(world, fail(fence, "final"));
      const holder = await enqueued(world, keep);
      assertHas((await world.store.retry([fence.jobId], false, OPTIONS))[0], {
        outcome: "conflict",
        state: "failed",
      });
      assertHas(await row(world, fence.jobId), { state: "failed", generation: 1 });
      await world.store.cancel([holder], OPTIONS);
      assertHas((await world.store.retry([fence.jobId], false, OPTIONS))[0], { outcome: "applied" });
      assertHas((await world.store.enqueue([newJob(keep)], OPTIONS))[0], {
        outcome: "kept",
        jobId: fence.jobId,
      });
    }),
  ],
};
