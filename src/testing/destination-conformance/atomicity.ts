import assert from "node:assert/strict";
import { assertEffects, assertMark, hasCode, newJob, part, token } from "./fixtures.ts";
import { type DestinationChapter, type DestinationWorld, type EffectWriter, fenced } from "./harness.ts";

const WRITERS = 8;
const ROUNDS = 4;

export const atomicity: DestinationChapter = {
  name: "atomicity",
  tests: [
    fenced(
      "D1 of eight writers at once the effects land in the order of the marks, and none is lost",
      async (world) => {
        const { line } = newJob();
        const writers = await handles(world);
        const admitted = new Set<string>();
        for (let round = 0; round < ROUNDS; round += 1) {
          const calls = writers.map(async (writer, n) => {
            // Neither the first nor the last to ask has the highest: every order is to be seen.
            const number = round * WRITERS + ((n * 5 + round) % WRITERS) + 1;
            if (await isAdmitted(writer.write(token(line, number), {}, `${number}`)))
              admitted.add(`${number}`);
          });
          await Promise.all(calls);
          await assertMark(world, token(line, (round + 1) * WRITERS));
        }
        const landed = await world.effects(line);
        const generations = landed.map(Number);
        assert.deepEqual(
          generations,
          [...generations].sort((a, b) => a - b),
        );
        assert.deepEqual([...landed].sort(), [...admitted].sort());
      },
    ),

    fenced("D1 of eight owners with one generation exactly one gets in", async (world) => {
      const { line } = newJob();
      const writers = await handles(world);
      const owners = await Promise.all(
        writers.map(async (writer, n) =>
          (await isAdmitted(writer.write(token(line, 1, `owner ${n}`), {}, `${n}`))) ? [`${n}`] : [],
        ),
      );
      assert.equal(owners.flat().length, 1, `admitted: ${owners.flat()}`);
      await assertEffects(world, line, owners.flat());
      await assertMark(world, token(line, 1, `owner ${owners.flat()[0]}`));
    }),

    fenced("D1 eight writes of one owner at once all land", async (world) => {
      const { line } = newJob();
      const writers = await handles(world);
      await Promise.all(writers.map((writer, n) => writer.write(token(line, 1), {}, `${n}`)));
      assert.deepEqual(
        [...(await world.effects(line))].sort(),
        writers.map((_, n) => `${n}`),
      );
    }),

    fenced("D1 an effect that failed leaves neither itself nor a mark", async (world) => {
      const { line } = newJob();
      await assert.rejects(part(world, "failInside")(token(line, 5), {}, "undone"));
      await assertEffects(world, line, []);
      assert.equal(await world.writer.markOf(line), undefined);
      await world.writer.write(token(line, 4), {}, "four");
      await assertEffects(world, line, ["four"]);
    }),

    fenced("D1 an effect that failed leaves the mark that was there", async (world) => {
      const { line } = newJob();
      await world.writer.write(token(line, 4), {}, "four");
      await assert.rejects(part(world, "failInside")(token(line, 5), {}, "undone"));
      await assertMark(world, token(line, 4));
      await world.writer.write(token(line, 4), {}, "four again");
      await assertEffects(world, line, ["four", "four again"]);
    }),

    fenced("D1 writers of other lines at once do not disturb each other", async (world) => {
      const writers = await handles(world);
      const lines = writers.map(() => newJob().line);
      await Promise.all(
        lines.flatMap((line, n) =>
          [writers[n], writers[(n + 1) % WRITERS]].map((writer) =>
            writer?.write(token(line, n + 1), {}, `${n}`),
          ),
        ),
      );
      for (const [n, line] of lines.entries()) {
        await assertEffects(world, line, [`${n}`, `${n}`]);
        await assertMark(world, token(line, n + 1));
      }
    }),
  ],
};

function handles(world: DestinationWorld): Promise<EffectWriter[]> {
  return Promise.all(Array.from({ length: WRITERS }, () => world.another()));
}

async function isAdmitted(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (hasCode(error, "LH_STALE_TOKEN")) return false;
    throw error;
  }
}
