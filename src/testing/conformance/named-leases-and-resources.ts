import assert from "node:assert/strict";
import { StaleLeaseError } from "../../errors.ts";
import type { JobId, NamedFence, Owner } from "../../protocol/identity.ts";
import type { AcquireAnswer } from "../../stores/store.ts";
import {
  assertAfterNow,
  assertHas,
  claim,
  claimedIds,
  claimOne,
  complete,
  enqueued,
  enqueuedMany,
  fail,
  fenceOf,
  gen,
  LAPSE_MS,
  LEASE_MS,
  leased,
  newId,
  newOwner,
  OPTIONS,
  reclaimed,
  release,
  row,
  settled,
  twoHandles,
} from "./fixtures.ts";
import { type Chapter, type ConformanceTest, test, type TestWorld } from "./harness.ts";

const NAME = "nightly-report";
const ACCOUNT = "account:42";

function acquire({ store }: Pick<TestWorld, "store">, owner: Owner = newOwner(), name = NAME): Promise<AcquireAnswer> {
  return store.acquire({ name, owner, leaseMs: LEASE_MS }, OPTIONS);
}

/** Acquires a lease that must be free. */
async function held(world: Pick<TestWorld, "store">, name = NAME): Promise<NamedFence> {
  const owner = newOwner();
  const answer = await acquire(world, owner, name);
  assert.ok(answer.outcome === "applied", `the lease is free, not ${answer.outcome}`);
  return { name, owner, generation: answer.token.generation };
}

async function lapseBoth(world: TestWorld, id: JobId): Promise<void> {
  await world.lapse(id, LAPSE_MS);
  await world.lapse(ACCOUNT, LAPSE_MS);
}

const byName: readonly ConformanceTest[] = [
  test("a free lease is acquired with generation 1 on its own line", async (world) => {
    const owner = newOwner();
    await assertAfterNow(world, LEASE_MS, async () => {
      const answer = await acquire(world, owner);
      const token = { line: `lease:${NAME}`, generation: gen(1), owner };
      assert.deepEqual(answer, { outcome: "applied", token, previous: undefined });
      return (await world.store.getLease(NAME, OPTIONS))?.leaseUntilMs;
    });
    assertHas(await world.store.getLease(NAME, OPTIONS), { name: NAME, owner, generation: 1, heldFor: null });
  }),

  test("a lease that nobody ever acquired does not exist", async ({ store }) => {
    assert.equal(await store.getLease(NAME, OPTIONS), undefined);
    const fence = { name: NAME, owner: newOwner(), generation: gen(1) };
    assert.deepEqual(await store.renewLeases([fence], OPTIONS), [{ outcome: "gone" }]);
    assert.deepEqual(await store.release([fence], OPTIONS), [{ outcome: "gone" }]);
    assert.deepEqual(await store.deleteLease(NAME, OPTIONS), { outcome: "gone" });
  }),

  test("a held lease is refused with its generation and the time that is left", async (world) => {
    const fence = await held(world);
    for (const owner of [newOwner(), fence.owner]) {
      const answer = await acquire(world, owner);
      assertHas(answer, { outcome: "held", generation: 1 });
      const remainingMs = answer.outcome === "held" ? answer.remainingMs : 0;
      assert.ok(remainingMs > LEASE_MS / 2 && remainingMs <= LEASE_MS, `${remainingMs} ms are left`);
    }
    assert.equal((await world.store.getLease(NAME, OPTIONS))?.owner, fence.owner);
  }),

  test("of many who acquire one lease at once exactly one gets it", async (world) => {
    const [here, there] = await twoHandles(world);
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => acquire({ store: n % 2 === 0 ? here : there })));
    assert.equal(answers.filter(({ outcome }) => outcome === "applied").length, 1);
  }),

  test("each acquisition raises the generation, released or lapsed before", async (world) => {
    const first = await held(world);
    assert.deepEqual(await world.store.release([first], OPTIONS), [{ outcome: "applied" }]);
    const second = await held(world);
    await world.lapse(NAME, LAPSE_MS);
    const third = await held(world);
    assert.deepEqual([first.generation, second.generation, third.generation], [1, 2, 3]);
  }),

  test("an acquisition after a lapse says who held the lease before", async (world) => {
    const first = await held(world);
    await world.lapse(NAME, LAPSE_MS);
    const answer = await acquire(world);
    assert.ok(answer.outcome === "applied");
    assertHas(answer.previous, { owner: first.owner, generation: 1 });
    assert.ok((answer.previous?.endedAgoMs ?? 0) >= LAPSE_MS - LEASE_MS);
  }),

  test("C5 a renewal extends the lease, also after expiry while nobody took it", async (world) => {
    const fence = await held(world);
    await world.lapse(NAME, LAPSE_MS);
    await assertAfterNow(world, LEASE_MS, async () => {
      const [answer] = await world.store.renewLeases([fence], OPTIONS);
      assert.equal(answer?.outcome, "applied");
      assert.ok(answer?.outcome === "applied" && answer.lapsedMs >= LAPSE_MS - LEASE_MS);
      return (await world.store.getLease(NAME, OPTIONS))?.leaseUntilMs;
    });
    assert.equal((await acquire(world)).outcome, "held");
  }),

  test("C5 whoever held it before neither renews nor releases it", async (world) => {
    const first = await held(world);
    await world.lapse(NAME, LAPSE_MS);
    const second = await held(world);
    const before = await world.store.getLease(NAME, OPTIONS);
    const strangers = [first, { ...second, owner: newOwner() }, { ...second, generation: gen(1) }];
    for (const fence of strangers) {
      const expected = [{ outcome: "stale", generation: gen(2), owner: second.owner }];
      assert.deepEqual(await world.store.renewLeases([fence], OPTIONS), expected);
      assert.deepEqual(await world.store.release([fence], OPTIONS), expected);
    }
    assert.deepEqual(await world.store.getLease(NAME, OPTIONS), before);
  }),

  test("C5 the same owner's earlier acquisition is as stale as a stranger's", async (world) => {
    const owner = newOwner();
    await acquire(world, owner);
    await world.lapse(NAME, LAPSE_MS);
    await acquire(world, owner);
    const [renewed] = await world.store.renewLeases([{ name: NAME, owner, generation: gen(1) }], OPTIONS);
    assert.deepEqual(renewed, { outcome: "stale", generation: gen(2), owner });
  }),

  test("C9 a second release is `already`, and a renewal after the release stale", async (world) => {
    const fence = await held(world);
    await world.store.release([fence], OPTIONS);
    assert.deepEqual(await world.store.release([fence], OPTIONS), [{ outcome: "already" }]);
    assertHas((await world.store.renewLeases([fence], OPTIONS))[0], { outcome: "stale", generation: 1, owner: null });
    assert.equal((await world.store.getLease(NAME, OPTIONS))?.leaseUntilMs, null);
  }),

  test("C9 in a batch of named leases each is answered in its place", async (world) => {
    const fine = await held(world, "fine");
    const taken = await held(world, "taken");
    await world.lapse("taken", LAPSE_MS);
    const taker = await held(world, "taken");
    const unknown = { ...fine, name: "unknown" };
    const outcomes = (answers: readonly { readonly outcome: string }[]): string[] => answers.map(({ outcome }) => outcome);
    const fences = [unknown, fine, taken, taker];
    const expected = ["gone", "applied", "stale", "applied"];
    assert.deepEqual(outcomes(await world.store.renewLeases(fences, OPTIONS)), expected);
    assert.deepEqual(outcomes(await world.store.release(fences, OPTIONS)), expected);
  }),

  test("a deleted and re-created named lease never gives a generation out again", async (world) => {
    const { store } = world;
    for (let n = 0; n < 3; n += 1) await store.release([await held(world)], OPTIONS);
    assert.deepEqual(await store.deleteLease(NAME, OPTIONS), { outcome: "applied" });
    assert.equal(await store.getLease(NAME, OPTIONS), undefined);
    assert.equal((await held(world)).generation, 4);
    // The floor is one for the whole store: what is given out next by anybody lies above it.
    assert.equal((await leased(world)).generation, 4);
    assert.equal((await held(world, "another")).generation, 4);
  }),

  test("C14 a held lease is not deleted, expired or not", async (world) => {
    const fence = await held(world);
    assert.deepEqual(await world.store.deleteLease(NAME, OPTIONS), { outcome: "conflict" });
    await world.lapse(NAME, LAPSE_MS);
    assert.deepEqual(await world.store.deleteLease(NAME, OPTIONS), { outcome: "conflict" });
    assertHas((await world.store.renewLeases([fence], OPTIONS))[0], { outcome: "applied" });
  }),

  test("C14 pruning takes leases that nobody holds, and their generations go into the floor", async (world) => {
    const kept = await held(world, "kept");
    const given = await held(world);
    await world.store.release([given], OPTIONS);
    await world.store.prune({ completedMs: 3_600_000, failedMs: 3_600_000 }, 100, OPTIONS);
    assert.equal((await world.store.getLease(NAME, OPTIONS))?.generation, 1);
    await world.store.prune({ completedMs: 0, failedMs: 0 }, 100, OPTIONS);
    assert.equal(await world.store.getLease(NAME, OPTIONS), undefined);
    assert.equal((await held(world)).generation, 2);
    assertHas((await world.store.renewLeases([kept], OPTIONS))[0], { outcome: "applied" });
  }),

  test("a named lease from before the floor was raised is stale, and the next one lies above the epoch", async (world) => {
    const fence = await held(world);
    const { epoch } = await world.store.raiseFloor(OPTIONS);
    assertHas((await world.store.renewLeases([fence], OPTIONS))[0], { outcome: "stale", generation: 1 });
    assertHas((await world.store.release([fence], OPTIONS))[0], { outcome: "stale", generation: 1 });
    assert.equal((await acquire(world)).outcome, "held");
    await world.lapse(NAME, LAPSE_MS);
    assert.equal((await held(world)).generation, epoch * 2 ** 32 + 1);
  }),

  test("the journal of a named lease tells of claims, lapses and releases", async (world) => {
    const first = await held(world);
    await world.lapse(NAME, LAPSE_MS);
    const second = await held(world);
    await world.store.release([second], OPTIONS);
    const entries = await world.store.journal(`lease:${NAME}`, OPTIONS);
    const story = entries.map(({ kind, owner, generation }) => `${kind} ${owner} ${generation}`);
    for (const part of [
      `claimed ${first.owner} 1`,
      `lapsed ${first.owner} 1`,
      `claimed ${second.owner} 2`,
      `released ${second.owner} 2`,
    ]) {
      assert.ok(story.includes(part), `${part} is in ${story.join(", ")}`);
    }
    assert.equal(story.at(-1), `released ${second.owner} 2`);
  }),
];

const asResource: readonly ConformanceTest[] = [
  test("a run with a resource carries its token on the resource's line", async (world) => {
    await enqueued(world, { resource: ACCOUNT });
    const owner = newOwner();
    const { job, token } = await claimOne(world, owner);
    assert.deepEqual(token, { line: `lease:${ACCOUNT}`, generation: gen(1), owner });
    assertHas(job, { resource: ACCOUNT, resourceGeneration: 1 });
    assertHas(await world.store.getLease(ACCOUNT, OPTIONS), { owner, generation: 1, heldFor: job.jobId });
  }),

  test("of two jobs with one resource a claim takes only the first", async (world) => {
    const [second, first] = await enqueuedMany(world, [{ resource: ACCOUNT }, { resource: ACCOUNT, priority: -1 }]);
    assert.deepEqual(claimedIds(await claim(world, newOwner())), [first]);
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    assertHas(await row(world, second as JobId), { state: "ready", attempt: 0, generation: 0 });
  }),

  test("jobs with one resource run one after the other, in their order, on rising generations", async (world) => {
    const ids = await enqueuedMany(world, Array.from({ length: 4 }, () => ({ resource: ACCOUNT })));
    const runs: unknown[] = [];
    for (let n = 0; n < 4; n += 1) {
      const claimed = await claimOne(world, newOwner());
      runs.push([claimed.job.jobId, claimed.token.generation, claimed.job.generation]);
      await settled(world, complete(fenceOf(claimed)));
    }
    assert.deepEqual(
      runs,
      ids.map((id, n) => [id, n + 1, 1]),
    );
  }),

  test("jobs with one resource in two queues run one after the other", async (world) => {
    await enqueued(world, { resource: ACCOUNT, queue: "a" });
    await enqueued(world, { resource: ACCOUNT, queue: "b" });
    const first = await claimOne(world, newOwner(), { queues: ["a", "b"] });
    assert.deepEqual(claimedIds(await claim(world, newOwner(), { queues: ["b", "a"] })), []);
    await settled(world, complete(fenceOf(first)));
    assert.notEqual((await claimOne(world, newOwner(), { queues: ["a", "b"] })).job.queue, first.job.queue);
  }),

  test("every way of settling gives the resource up in the same statement", async (world) => {
    const ends = [complete, release, fail, (fence: Parameters<typeof fail>[0]) => fail(fence, "final")];
    for (const end of ends) {
      await enqueued(world, { resource: ACCOUNT, maxAttempts: 3 });
      const fence = fenceOf(await claimOne(world, newOwner()));
      await settled(world, end(fence));
      assertHas(await world.store.getLease(ACCOUNT, OPTIONS), { owner: null, heldFor: null });
      await world.store.cancel([fence.jobId], OPTIONS);
    }
  }),

  test("completeWith gives the resource up", async (world) => {
    await enqueuedMany(world, [{ resource: ACCOUNT }, { resource: ACCOUNT }]);
    const first = fenceOf(await claimOne(world, newOwner()));
    await world.store.completeWith(first, async () => null, OPTIONS);
    assert.equal((await claimOne(world, newOwner())).token.generation, 2);
  }),

  test("a renewal of the job renews its resource with it", async (world) => {
    const fence = await leased(world, { resource: ACCOUNT });
    await lapseBoth(world, fence.jobId);
    assertHas((await world.store.renew([fence], OPTIONS))[0], { outcome: "applied" });
    const [lease, job] = [await world.store.getLease(ACCOUNT, OPTIONS), await row(world, fence.jobId)];
    assert.equal(lease?.leaseUntilMs, job.leaseUntilMs);
    await enqueued(world, { resource: ACCOUNT });
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
  }),

  test("a reclaim raises job and resource, and the old run is stale", async (world) => {
    const { a, b } = await reclaimed(world, { resource: ACCOUNT });
    assertHas(await row(world, a.jobId), { generation: 2, resourceGeneration: 2 });
    assertHas((await world.store.settle([complete(a)], OPTIONS))[0], { outcome: "stale", reason: "reclaimed" });
    assertHas(await world.store.getLease(ACCOUNT, OPTIONS), { owner: b.owner, generation: 2 });
    await settled(world, complete(b));
  }),

  test("a run whose resource was taken by another run is stale, though its job is its own", async (world) => {
    const fence = await leased(world, { resource: ACCOUNT });
    await enqueued(world, { resource: ACCOUNT });
    await world.lapse(ACCOUNT, LAPSE_MS);
    const taker = fenceOf(await claimOne(world, newOwner()));
    const before = [await row(world, fence.jobId), await world.store.getLease(ACCOUNT, OPTIONS)];
    const refusals = [
      ...(await world.store.renew([fence], OPTIONS)),
      ...(await world.store.settle([complete(fence)], OPTIONS)),
      ...(await world.store.settle([fail(fence)], OPTIONS)),
      ...(await world.store.settle([release(fence)], OPTIONS)),
      ...(await world.store.write([{ fence, progress: "1" }], OPTIONS)),
      await world.store.heal(fence, gen(9), OPTIONS),
      await world.store.outcome(fence, OPTIONS),
    ];
    for (const refusal of refusals) assertHas(refusal, { outcome: "stale", generation: 1, reason: "resource" });
    await assert.rejects(
      world.store.completeWith(fence, async () => null, OPTIONS),
      StaleLeaseError,
    );
    assert.deepEqual([await row(world, fence.jobId), await world.store.getLease(ACCOUNT, OPTIONS)], before);
    await settled(world, complete(taker));
  }),

  test("an acquisition by name keeps back jobs with that resource, and its release lets them go", async (world) => {
    const fence = await held(world, ACCOUNT);
    const id = await enqueued(world, { resource: ACCOUNT });
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    await world.store.release([fence], OPTIONS);
    const claimed = await claimOne(world, newOwner());
    assert.deepEqual([claimed.job.jobId, claimed.token.generation], [id, 2]);
  }),

  test("an acquisition by name that lapsed no longer keeps a job back", async (world) => {
    const fence = await held(world, ACCOUNT);
    await enqueued(world, { resource: ACCOUNT });
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    await world.lapse(ACCOUNT, LAPSE_MS);
    assert.equal((await claimOne(world, newOwner())).token.generation, 2);
    assertHas((await world.store.renewLeases([fence], OPTIONS))[0], { outcome: "stale", generation: 2 });
  }),

  test("a run that holds a resource keeps back an acquisition by that name", async (world) => {
    const fence = await leased(world, { resource: ACCOUNT });
    assertHas(await acquire(world, newOwner(), ACCOUNT), { outcome: "held", generation: 1 });
    await settled(world, complete(fence));
    assert.equal((await held(world, ACCOUNT)).generation, 2);
  }),

  test("a lease that a run holds is neither renewed nor released nor deleted by name", async (world) => {
    const fence = await leased(world, { resource: ACCOUNT });
    const byName = { name: ACCOUNT, owner: fence.owner, generation: gen(1) };
    assertHas((await world.store.renewLeases([byName], OPTIONS))[0], { outcome: "stale" });
    assertHas((await world.store.release([byName], OPTIONS))[0], { outcome: "stale" });
    assert.deepEqual(await world.store.deleteLease(ACCOUNT, OPTIONS), { outcome: "conflict" });
    await settled(world, complete(fence));
  }),

  test("a revoke frees the resource and raises it, and its token is on the resource's line", async (world) => {
    const fence = await leased(world, { resource: ACCOUNT });
    const [answer] = await world.store.revoke([fence.jobId], OPTIONS);
    assertHas(answer?.token, { line: `lease:${ACCOUNT}`, generation: 2 });
    assertHas(await world.store.getLease(ACCOUNT, OPTIONS), { owner: null, generation: 2 });
    assert.equal((await claimOne(world, newOwner())).token.generation, 3);
  }),

  test("C12 the end of an expired job leaves its resource to the next", async (world) => {
    const fence = await leased(world, { resource: ACCOUNT, maxAttempts: 1 });
    const next = await enqueued(world, { resource: ACCOUNT });
    await lapseBoth(world, fence.jobId);
    const ids: JobId[] = [];
    for (let n = 0; n < 2; n += 1) ids.push(...claimedIds(await claim(world, newOwner())));
    assert.deepEqual(ids, [next]);
    assert.equal((await row(world, fence.jobId)).state, "failed");
  }),

  test("a resource keeps back no job but those that share it", async (world) => {
    await leased(world, { resource: ACCOUNT });
    await enqueuedMany(world, Array.from({ length: 15 }, () => ({ resource: ACCOUNT })));
    const others = await enqueuedMany(world, [{}, { resource: "account:43" }, { resource: "account:44" }]);
    assert.deepEqual(claimedIds(await claim(world, newOwner(), { limit: 5 })), others);
  }),

  test("a job behind hundreds that wait for one resource is found in a bounded number of claims", async (world) => {
    await leased(world, { resource: ACCOUNT });
    await enqueuedMany(world, Array.from({ length: 400 }, () => ({ resource: ACCOUNT })));
    const other = await enqueued(world);
    const found: JobId[] = [];
    for (let n = 0; n < 10 && found.length === 0; n += 1) found.push(...claimedIds(await claim(world, newOwner())));
    assert.deepEqual(found, [other]);
  }),

  test("jobs that wait for a resource take nothing from the limit", async (world) => {
    await enqueuedMany(world, Array.from({ length: 5 }, () => ({ resource: ACCOUNT })));
    const others = await enqueuedMany(world, [{}, {}, {}]);
    const claimed = claimedIds(await claim(world, newOwner(), { limit: 4 }));
    assert.deepEqual(claimed.slice(1), others);
  }),

  test("the end of a run lets the next of its resource go, also when that one is delayed or cancelled", async (world) => {
    const first = await leased(world, { resource: ACCOUNT });
    const [cancelled, last] = await enqueuedMany(world, [{ resource: ACCOUNT }, { resource: ACCOUNT }]);
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    await world.store.cancel([cancelled as JobId], OPTIONS);
    await settled(world, complete(first));
    assert.deepEqual(claimedIds(await claim(world, newOwner())), [last]);
  }),

  test("C19 a heal of a run with a resource lifts the resource's generation", async (world) => {
    const fence = await leased(world, { resource: ACCOUNT });
    assertHas(await world.store.heal(fence, gen(50), OPTIONS), { outcome: "applied", state: "ready" });
    assertHas(await world.store.getLease(ACCOUNT, OPTIONS), { owner: null, generation: 50 });
    assert.equal((await claimOne(world, newOwner())).token.generation, 51);
  }),

  test("a job's own id is not a lease's name", async (world) => {
    const fence = await leased(world);
    assert.equal(await world.store.getLease(fence.jobId, OPTIONS), undefined);
    assert.equal((await acquire(world, newOwner(), fence.jobId)).outcome, "applied");
    assertHas((await world.store.renew([fence, { ...fence, jobId: newId() }], OPTIONS))[0], { outcome: "applied" });
  }),
];

export const namedLeasesAndResources: Chapter = {
  name: "named leases and resources",
  tests: [...byName, ...asResource],
};
