import { assertEffects, assertMark, assertStale, newJob, token } from "./fixtures.ts";
import { type DestinationChapter, fenced } from "./harness.ts";

export const orderChapter: DestinationChapter = {
  name: "order",
  tests: [
    fenced("D7 the first token of a line is admitted and becomes its mark", async (world) => {
      const first = token(newJob().line, 5);
      await world.writer.write(first, {}, "first");
      await assertMark(world, first);
      await assertEffects(world, first.line, ["first"]);
    }),

    fenced("D2 a higher generation is admitted and raises the mark", async (world) => {
      const { line } = newJob();
      await world.writer.write(token(line, 7), {}, "seven");
      await world.writer.write(token(line, 8), {}, "eight");
      await assertMark(world, token(line, 8));
      await assertEffects(world, line, ["seven", "eight"]);
    }),

    fenced("D2 the mark's own owner is admitted again and again", async (world) => {
      const { line } = newJob();
      for (const effect of ["a", "b", "c"]) await world.writer.write(token(line, 7), {}, effect);
      await assertMark(world, token(line, 7));
      await assertEffects(world, line, ["a", "b", "c"]);
    }),

    fenced("D2 a lower generation is refused, and writes nothing", async (world) => {
      const { line } = newJob();
      await world.writer.write(token(line, 8), {}, "eight");
      await assertStale(world.writer.write(token(line, 7), {}, "late"), token(line, 7), token(line, 8));
      await assertMark(world, token(line, 8));
      await assertEffects(world, line, ["eight"]);
    }),

    fenced("D2 a lower generation of the same owner is refused as well", async (world) => {
      const { line } = newJob();
      await world.writer.write(token(line, 8, "A"), {}, "eight");
      const late = token(line, 7, "A");
      await assertStale(world.writer.write(late, {}, "late"), late, token(line, 8, "A"));
      await assertEffects(world, line, ["eight"]);
    }),

    fenced("D2 an equal generation of another owner is refused, and writes nothing", async (world) => {
      const { line } = newJob();
      await world.writer.write(token(line, 7, "A"), {}, "A's");
      const other = token(line, 7, "B");
      await assertStale(world.writer.write(other, {}, "B's"), other, token(line, 7, "A"));
      await assertMark(world, token(line, 7, "A"));
      await assertEffects(world, line, ["A's"]);
    }),

    fenced("D2 a refusal changes nothing: the mark's owner writes on", async (world) => {
      const { line } = newJob();
      await world.writer.write(token(line, 8), {}, "one");
      for (const late of [token(line, 7), token(line, 8, "other"), token(line, 1)])
        await assertStale(world.writer.write(late, {}, "late"), late, token(line, 8));
      await world.writer.write(token(line, 8), {}, "two");
      await assertEffects(world, line, ["one", "two"]);
    }),

    fenced("D2 lines are independent: one's mark is never held against another", async (world) => {
      const [a, b] = [newJob().line, newJob().line];
      await world.writer.write(token(a, 900), {}, "a");
      await world.writer.write(token(b, 1), {}, "b");
      await assertMark(world, token(a, 900));
      await assertMark(world, token(b, 1));
      await assertEffects(world, b, ["b"]);
    }),

    fenced("D2 generations are compared as numbers: 9 is lower than 10", async (world) => {
      const { line } = newJob();
      await world.writer.write(token(line, 9), {}, "nine");
      await world.writer.write(token(line, 10), {}, "ten");
      await assertStale(world.writer.write(token(line, 9), {}, "late"), token(line, 9), token(line, 10));
      await assertEffects(world, line, ["nine", "ten"]);
    }),

    fenced(
      "D2 generations about 2^32 and up to 2^53 − 1 keep their order to the last digit",
      async (world) => {
        for (const high of [2 ** 31, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]) {
          const { line } = newJob();
          await world.writer.write(token(line, high - 1), {}, "before");
          await world.writer.write(token(line, high), {}, "high");
          const late = token(line, high - 1);
          await assertStale(world.writer.write(late, {}, "late"), late, token(line, high));
          await assertMark(world, token(line, high));
          await assertEffects(world, line, ["before", "high"]);
        }
      },
    ),

    fenced("D2 what one handle was admitted with, every other one compares with", async (world) => {
      const { line } = newJob();
      const other = await world.another();
      await other.write(token(line, 8), {}, "eight");
      await assertStale(world.writer.write(token(line, 7), {}, "late"), token(line, 7), token(line, 8));
      await world.writer.write(token(line, 9), {}, "nine");
      await assertStale(other.write(token(line, 8), {}, "late"), token(line, 8), token(line, 9));
      await assertEffects(world, line, ["eight", "nine"]);
    }),
  ],
};
