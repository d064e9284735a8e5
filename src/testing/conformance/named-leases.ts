import assert from "node:assert/strict";
import {
  assertAfterNow,
  assertHas,
  gen,
  LAPSE_MS,
  LEASE_MS,
  leased,
  newOwner,
  OPTIONS,
  twoHandles,
} from "./fixtures.ts";
import { type ConformanceTest, test } from "./harness.ts";
import { acquire, held, NAME } from "./named-lease-fixtures.ts";

export const namedLeases: readonly ConformanceTest[] = [
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
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => acquire({ store: n % 2 === 0 ? here : there })),
    );
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
    assertHas((await world.store.renewLeases([fence], OPTIONS))[0], {
      outcome: "stale",
      generation: 1,
      owner: null,
    });
    assert.equal((await world.store.getLease(NAME, OPTIONS))?.leaseUntilMs, null);
  }),

  test("C9 in a batch of named leases each is answered in its place", async (world) => {
    const fine = await held(world, "fine");
    const taken = await held(world, "taken");
    await world.lapse("taken", LAPSE_MS);
    const taker = await held(world, "taken");
    const unknown = { ...fine, name: "unknown" };
    const outcomes = (answers: readonly { readonly outcome: string }[]): string[] =>
      answers.map(({ outcome }) => outcome);
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
