import assert from "node:assert/strict";
import { leaseLine } from "../../protocol/identity.ts";
import { assertEffects, assertMark, assertStale, newJob, part, refusal, token } from "./fixtures.ts";
import { type DestinationChapter, fenced } from "./harness.ts";

export const pruning: DestinationChapter = {
  name: "pruning",
  tests: [
    fenced("D7 a sleeper whose line was pruned is refused, and writes nothing", async (world) => {
      const [sleeper, oldest] = jobsInOrder(2);
      await world.writer.write(token(sleeper.line, 8), {}, "eight");
      await part(world, "prune")(oldest.id);
      assert.equal(await world.writer.markOf(sleeper.line), undefined);
      for (const number of [7, 8, 9]) {
        const call = world.writer.write(token(sleeper.line, number), {}, "late");
        assert.equal((await refusal(call, "LH_PRUNED_LINE")).line, sleeper.line);
      }
      await assertEffects(world, sleeper.line, ["eight"]);
    }),

    fenced("D7 a sleeper that never wrote is refused as well, and so is its advance", async (world) => {
      const [sleeper, oldest] = jobsInOrder(2);
      await part(world, "prune")(oldest.id);
      await refusal(world.writer.write(token(sleeper.line, 1), {}, "late"), "LH_PRUNED_LINE");
      await refusal(world.writer.advance(token(sleeper.line, 1)), "LH_PRUNED_LINE");
      await refusal((await world.another()).advance(token(sleeper.line, 2)), "LH_PRUNED_LINE");
      assert.equal(await world.writer.markOf(sleeper.line), undefined);
      await assertEffects(world, sleeper.line, []);
    }),

    fenced("D7 the job at pruned_below and those above keep their marks", async (world) => {
      const [, oldest, newer, newest] = jobsInOrder(4);
      await world.writer.write(token(oldest.line, 8), {}, "eight");
      await world.writer.write(token(newer.line, 3), {}, "three");
      await part(world, "prune")(oldest.id);
      await assertMark(world, token(oldest.line, 8));
      const late = token(oldest.line, 7);
      await assertStale(world.writer.write(late, {}, "late"), late, token(oldest.line, 8));
      await assertMark(world, token(newer.line, 3));
      await world.writer.write(token(newest.line, 1), {}, "new");
      await assertEffects(world, newest.line, ["new"]);
    }),

    fenced("D7 named leases are never pruned, neither those with a mark nor those without", async (world) => {
      const [, oldest] = jobsInOrder(2);
      const [seen, unseen] = [leaseLine("seen"), leaseLine("0 unseen")];
      await world.writer.write(token(seen, 8), {}, "eight");
      await part(world, "prune")(oldest.id);
      await assertStale(world.writer.write(token(seen, 7), {}, "late"), token(seen, 7), token(seen, 8));
      await world.writer.write(token(unseen, 1), {}, "one");
      await assertEffects(world, unseen, ["one"]);
    }),

    fenced("D7 pruned_below never falls", async (world) => {
      const [lowest, sleeper, oldest] = jobsInOrder(3);
      await part(world, "prune")(oldest.id);
      await part(world, "prune")(lowest.id);
      await refusal(world.writer.write(token(sleeper.line, 9), {}, "late"), "LH_PRUNED_LINE");
      await assertEffects(world, sleeper.line, []);
    }),

    fenced("D7 pruned_below outlives the process", async (world) => {
      const [sleeper, oldest] = jobsInOrder(2);
      await part(world, "prune")(oldest.id);
      const writer = await part(world, "restart")();
      await refusal(writer.write(token(sleeper.line, 9), {}, "late"), "LH_PRUNED_LINE");
    }),
  ],
};

type Job = ReturnType<typeof newJob>;

/** In the order of their ids. */
function jobsInOrder(count: 2): [Job, Job];
function jobsInOrder(count: 3): [Job, Job, Job];
function jobsInOrder(count: 4): [Job, Job, Job, Job];
function jobsInOrder(count: number): Job[] {
  return Array.from({ length: count }, newJob).sort((a, b) => (a.id < b.id ? -1 : 1));
}
