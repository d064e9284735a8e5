import assert from "node:assert/strict";
import { hasCode, newJob, token } from "./fixtures.ts";
import { always, type DestinationChapter } from "./harness.ts";

export const levelChapter: DestinationChapter = {
  name: "level",
  tests: [
    always("D8 the kit shows the level that it is judged by", async (world) => {
      assert.equal(world.writer.level, world.level);
      assert.equal((await world.another()).level, world.level);
    }),

    always("D8 it refuses late writes if it is called fenced, and only then", async (world) => {
      const { line } = newJob();
      await world.writer.write(token(line, 8), {}, "eight");
      const isRefused = await world.writer.write(token(line, 7), {}, "late").then(
        () => false,
        (error) => hasCode(error, "LH_STALE_TOKEN"),
      );
      assert.equal(isRefused, world.level.includes("fenced"));
      assert.deepEqual(await world.effects(line), isRefused ? ["eight"] : ["eight", "late"]);
    }),

    always("D8 it answers repeats if it is called deduplicated, and only then", async (world) => {
      const { line, scope } = newJob();
      const options = { step: "mail", scope };
      await world.writer.write(token(line, 1), options, "first");
      await world.writer.write(token(line, 1), options, "second");
      const expected = world.level.includes("deduplicated") ? ["first"] : ["first", "second"];
      assert.deepEqual(await world.effects(line), expected);
    }),

    always("D9 the probe proves it if it is called fenced, and only then", async (world) => {
      for (const writer of [world.writer, world.writer, await world.another()]) {
        const result = await writer.probe();
        assert.equal(result.isProven, world.level.includes("fenced"), JSON.stringify(result));
      }
    }),
  ],
};
