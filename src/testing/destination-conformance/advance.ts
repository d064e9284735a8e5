import assert from "node:assert/strict";
import { assertEffects, assertMark, assertStale, hasCode, newJob, token } from "./fixtures.ts";
import { type DestinationChapter, fenced } from "./harness.ts";

export const advanceChapter: DestinationChapter = {
  name: "advance",
  tests: [
    fenced(
      "D3 from an advance on the owner before cannot write: what is read then stays as it is",
      async (world) => {
        const { line } = newJob();
        await world.writer.write(token(line, 7), {}, "before");
        const successor = await world.another();
        await successor.advance(token(line, 8));
        const read = await world.effects(line);
        await assertStale(world.writer.write(token(line, 7), {}, "late"), token(line, 7), token(line, 8));
        assert.deepEqual(await world.effects(line), read);
        await successor.write(token(line, 8), {}, `after ${read.length}`);
        await assertEffects(world, line, ["before", "after 1"]);
      },
    ),

    fenced("D3 an advance in the middle of many writes lets none land after its answer", async (world) => {
      const { line } = newJob();
      const [successor, ...writers] = await Promise.all(Array.from({ length: 5 }, () => world.another()));
      assert.ok(successor);
      let isAdvanced = false;
      const late = writers.map(async (writer, n) => {
        // Each begins one more after the advance at least, unless it is refused before.
        for (let number = 0, isLast = false; !isLast; number += 1) {
          isLast = isAdvanced;
          try {
            await writer.write(token(line, 1), {}, `${n}.${number}`);
          } catch (error) {
            if (!hasCode(error, "LH_STALE_TOKEN")) throw error;
            return;
          }
        }
      });
      await world.writer.write(token(line, 1), {}, "one at least");
      await successor.advance(token(line, 2));
      isAdvanced = true;
      const read = await world.effects(line);
      await Promise.all(late);
      assert.deepEqual(await world.effects(line), read);
    }),

    fenced("D3 an advance makes the mark of a line that has none, and writes nothing", async (world) => {
      const { line } = newJob();
      await world.writer.advance(token(line, 3));
      await assertMark(world, token(line, 3));
      await assertEffects(world, line, []);
    }),

    fenced("D3 a lower advance is refused with the mark, which stays", async (world) => {
      const { line } = newJob();
      await world.writer.advance(token(line, 8));
      await assertStale(world.writer.advance(token(line, 7)), token(line, 7), token(line, 8));
      await assertMark(world, token(line, 8));
    }),

    fenced("D3 an equal advance of another owner is refused with the mark, which stays", async (world) => {
      const { line } = newJob();
      await world.writer.advance(token(line, 8, "A"));
      const other = token(line, 8, "B");
      await assertStale(world.writer.advance(other), other, token(line, 8, "A"));
      await assertMark(world, token(line, 8, "A"));
    }),

    fenced("D3 an advance can be repeated, before and after its owner's writes", async (world) => {
      const { line } = newJob();
      const current = token(line, 8);
      await world.writer.advance(current);
      await world.writer.advance(current);
      await world.writer.write(current, {}, "eight");
      await world.writer.advance(current);
      await assertMark(world, current);
      await assertEffects(world, line, ["eight"]);
    }),

    fenced("D3 an advance touches no other line", async (world) => {
      const [a, b] = [newJob().line, newJob().line];
      await world.writer.advance(token(a, 50));
      assert.equal(await world.writer.markOf(b), undefined);
      await world.writer.write(token(b, 1), {}, "b");
      await assertEffects(world, b, ["b"]);
    }),
  ],
};
