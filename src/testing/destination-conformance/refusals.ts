import assert from "node:assert/strict";
import { assertEffects, assertMark, assertStale, newJob, part, refusal, token } from "./fixtures.ts";
import { always, type DestinationChapter, fenced } from "./harness.ts";

export const refusals: DestinationChapter = {
  name: "refusals",
  tests: [
    fenced("D6 a refusal carries the mark, and says both generations", async (world) => {
      const { line } = newJob();
      await world.writer.write(token(line, 4_711), {}, "first");
      const late = token(line, 815);
      const told = await refusal(world.writer.write(late, {}, "late"), "LH_STALE_TOKEN");
      for (const said of ["815", "4711", line]) assert.ok(told.message.includes(said), told.message);
      await assertStale(world.writer.write(late, {}, "late"), late, token(line, 4_711));
    }),

    fenced("D6 a refusal of an equal generation names the other owner in its mark", async (world) => {
      const { line } = newJob();
      await world.writer.advance(token(line, 3, "the first"));
      const second = token(line, 3, "the second");
      await assertStale(world.writer.write(second, {}, "late"), second, token(line, 3, "the first"));
    }),

    fenced("D1 a write without a token is refused, and writes nothing", async (world) => {
      const { line } = newJob();
      const bare = part(world, "writeWithoutToken");
      await assert.rejects(bare(line, "bare"));
      await assertEffects(world, line, []);
      await world.writer.write(token(line, 2), {}, "with one");
      await assert.rejects(bare(line, "bare"));
      await assertEffects(world, line, ["with one"]);
      await assertMark(world, token(line, 2));
    }),

    always("a line that was never seen has no mark", async (world) => {
      assert.equal(await world.writer.markOf(newJob().line), undefined);
    }),
  ],
};
