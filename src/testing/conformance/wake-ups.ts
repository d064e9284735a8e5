import assert from "node:assert/strict";
import type { Store } from "../../stores/store.ts";
import { claim, enqueued, enqueuedMany, newJob, newOwner, OPTIONS, QUEUE, twoHandles } from "./fixtures.ts";
import { type Chapter, test } from "./harness.ts";

interface Sleeping {
  /** Resolves at each wake-up; asked for before what wakes. */
  woken(): Promise<void>;
  arm(): void;
}

/** Lets takers sleep while `body` runs. */
async function asleep(store: Store, rooms: readonly number[], body: (sleeping: Sleeping[]) => Promise<void>) {
  const closing: (() => void)[] = [];
  const sleeping = rooms.map((room): Sleeping => {
    let tell = (): void => {};
    const listener = store.listen(() => tell(), { queues: [QUEUE], room: () => room });
    closing.push(() => listener.close());
    listener.arm();
    return {
      woken: () =>
        new Promise((resolve) => {
          tell = resolve;
        }),
      arm: () => listener.arm(),
    };
  });
  try {
    await body(sleeping);
  } finally {
    for (const close of closing) close();
  }
}

/** A store may wake more than it must: that is not what is asked here. */
export const wakeUpsChapter: Chapter = {
  name: "wake-ups of takers",
  tests: [
    test("one with room is woken, though another without room sleeps", (world) =>
      asleep(world.store, [0, 10], async ([, roomy]) => {
        const woken = roomy?.woken();
        await enqueued(world);
        await woken;
      })),

    test("many jobs wake all whose room they need", (world) =>
      asleep(world.store, [2, 2, 2], async (all) => {
        const woken = all.map((one) => one.woken());
        await enqueuedMany(
          world,
          Array.from({ length: 6 }, () => newJob()),
        );
        await Promise.all(woken);
      })),

    test("the next one is woken when a claim came back full", (world) =>
      asleep(world.store, [10, 10], async (both) => {
        const woken = both.map((one) => one.woken());
        await enqueuedMany(world, [newJob(), newJob()]);
        await Promise.race(woken);
        await claim(world, newOwner(), { limit: 1 });
        await Promise.all(woken);
      })),

    test("a ring during a claim that has not seen the job is heard after it", (world) =>
      asleep(world.store, [10], async ([one]) => {
        const woken = one?.woken();
        const [found] = await Promise.all([
          claim(world, newOwner(), { takeover: false }),
          enqueued(world).then(() => undefined),
        ]);
        if (found.jobs.length === 0) await woken;
      })),

    test("one that sleeps elsewhere is woken for every job that nobody here takes", async (world) => {
      const [here, there] = await twoHandles(world);
      await asleep(here, [10], async ([one]) => {
        for (let n = 0; n < 5; n++) {
          const woken = one?.woken();
          one?.arm();
          const [answer] = await there.enqueue([newJob()], OPTIONS);
          assert.equal(answer?.outcome, "enqueued");
          await woken;
          await here.claim({ owner: newOwner(), queues: [QUEUE], limit: 10, takeover: false }, OPTIONS);
        }
      });
    }),
  ],
};
