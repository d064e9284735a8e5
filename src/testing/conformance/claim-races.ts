import assert from "node:assert/strict";
import type { Owner } from "../../protocol/identity.ts";
import type { Store } from "../../stores/store.ts";
import {
  assertHas,
  claim,
  claimedIds,
  claimOne,
  complete,
  enqueuedMany,
  fenceOf,
  gen,
  LAPSE_MS,
  leased,
  newJob,
  newOwner,
  OPTIONS,
  required,
  row,
  twoHandles,
} from "./fixtures.ts";
import { type ConformanceTest, test } from "./harness.ts";

export const claimRaces: readonly ConformanceTest[] = [
  test("C3 no two claims at once return the same job", async (world) => {
    const [here, there] = await twoHandles(world);
    await enqueuedMany(
      world,
      Array.from({ length: 40 }, () => ({})),
    );
    const claims = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        claim({ store: n % 2 === 0 ? here : there }, newOwner(), { limit: 5 }),
      ),
    );
    const ids = claims.flatMap(claimedIds);
    assert.equal(ids.length, 40);
    assert.equal(new Set(ids).size, 40);
    assert.ok(claims.every(({ jobs }) => jobs.length <= 5));
  }),

  test("C3 of two claims at once on one expired job exactly one gets a new generation", async (world) => {
    const [here, there] = await twoHandles(world);
    const fence = await leased(world);
    await world.lapse(fence.jobId, LAPSE_MS);
    const claims = await Promise.all([
      claim({ store: here }, newOwner()),
      claim({ store: there }, newOwner()),
    ]);
    const jobs = claims.flatMap((claimed) => claimed.jobs);
    assert.equal(jobs.length, 1);
    assertHas(jobs[0]?.job, { generation: 2, attempt: 2 });
    assert.equal((await row(world, fence.jobId)).generation, 2);
  }),

  test("C12 of a completion and a claim that ends the job for its lapse, at once, exactly one ends it", async (world) => {
    const [here, there] = await twoHandles(world);
    for (let round = 0; round < 8; round++) {
      const fence = await leased(world, { maxAttempts: 1 });
      await world.lapse(fence.jobId, LAPSE_MS);
      const settle = () => here.settle([complete(fence, "done")], OPTIONS);
      const end = () => claim({ store: there }, newOwner());
      const [answers, claimed] =
        round % 2 === 0
          ? await Promise.all([settle(), end()])
          : await Promise.all([end(), settle()]).then(([second, first]) => [first, second] as const);
      // Where the claim looks at the row at that moment the completion is `busy`, and is sent again.
      const busy = answers[0]?.outcome === "busy";
      const answer = busy ? (await here.settle([complete(fence, "done")], OPTIONS))[0] : answers[0];
      const ended = claimed.ended.map(({ jobId }) => jobId);
      const found = await row(world, fence.jobId);
      if (answer?.outcome === "applied") {
        assert.deepEqual(ended, []);
        assertHas(found, { state: "completed", result: "done", generation: 1 });
      } else {
        assertHas(answer, { outcome: "stale", state: "failed", endReason: "lease_expired" });
        assertHas(found, { state: "failed", endReason: "lease_expired", result: null, generation: 2 });
      }
    }
  }),

  test("C3 of two processes that take over the same lapsed jobs each job gets one new owner", async (world) => {
    const other = await required(world.competitor, "competitor")();
    const ids = await enqueuedMany(
      world,
      Array.from({ length: 60 }, () => ({})),
    );
    await claim(world, newOwner(), { limit: 60 });
    for (const id of ids) await world.lapse(id, LAPSE_MS);
    const claims = await Promise.all(
      [world.store, other.store].map(async (store) => {
        const jobs = [];
        for (let looks = 0; looks < 40; looks++)
          jobs.push(...(await claim({ store }, newOwner(), { limit: 2 })).jobs);
        return jobs;
      }),
    );
    const taken = claims.flat().map(({ job }) => job);
    assert.deepEqual(taken.map(({ jobId }) => jobId).toSorted(), ids.toSorted());
    assert.ok(taken.every((job) => job.generation === gen(2) && job.attempt === 2));
    const rows = await world.store.get(ids, OPTIONS);
    for (const job of taken)
      assert.equal(rows[ids.indexOf(job.jobId)]?.owner, job.owner, "whoever was told owns it");
  }),

  test("lets two processes compete for the same jobs", async (world) => {
    const other = await required(world.competitor, "competitor")();
    const ids = await enqueuedMany(
      world,
      Array.from({ length: 120 }, () => ({})),
    );
    const take = async (store: Store, owner: Owner): Promise<string[]> => {
      const { jobs } = await claim({ store }, owner, { limit: 3 });
      // Where the other one's claim looks at a row at this moment the answer is `busy`: not applied, ask again.
      for (let left = jobs.map((job) => complete(fenceOf(job))); left.length > 0; ) {
        const answers = await store.settle(left, OPTIONS);
        assert.ok(answers.every(({ outcome }) => outcome === "applied" || outcome === "busy"));
        left = left.filter((_, index) => answers[index]?.outcome === "busy");
      }
      return jobs.map(({ job }) => job.jobId);
    };
    const drain = async (store: Store, owner: Owner): Promise<string[]> => {
      const mine: string[] = [];
      for (let more = await take(store, owner); more.length > 0; more = await take(store, owner))
        mine.push(...more);
      return mine;
    };
    const owners = [newOwner(), newOwner()] as const;
    // There is enough for a first claim of each, however late one of them comes to it.
    const firsts = await Promise.all([take(world.store, owners[0]), take(other.store, owners[1])]);
    const rest = await Promise.all([drain(world.store, owners[0]), drain(other.store, owners[1])]);
    assert.deepEqual([...firsts, ...rest].flat().toSorted(), ids.toSorted());
    const jobs = await world.store.get(ids, OPTIONS);
    assert.ok(jobs.every((job) => job?.state === "completed" && job.generation === gen(1)));
    const byOwner = owners.map((owner) => jobs.filter((job) => job?.settled?.owner === owner).length);
    assert.ok(
      byOwner.every((count) => count >= 3),
      `both got some: ${byOwner}`,
    );
  }),

  test("what a killed process held comes back by its lapse, and never before", async (world) => {
    const other = await required(world.competitor, "competitor")();
    await other.store.enqueue([newJob()], OPTIONS);
    const fence = fenceOf(await claimOne(other, newOwner()));
    await other.kill();
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    await world.lapse(fence.jobId, LAPSE_MS);
    const { job, previous } = await claimOne(world, newOwner());
    assertHas(job, { jobId: fence.jobId, generation: 2 });
    assert.equal(previous?.owner, fence.owner);
  }),
];
