import assert from "node:assert/strict";
import { assertStale, newJob, part, refusal, token } from "./fixtures.ts";
import { both, type DestinationChapter, deduplicated, fenced } from "./harness.ts";

export const durability: DestinationChapter = {
  name: "durability",
  tests: [
    fenced("D1 a mark outlives the process that keeps it", async (world) => {
      const { line } = newJob();
      await world.writer.write(token(line, 8), {}, "eight");
      const writer = await part(world, "restart")();
      await assertStale(writer.write(token(line, 7), {}, "late"), token(line, 7), token(line, 8));
      const other = token(line, 8, "other");
      await assertStale(writer.write(other, {}, "late"), other, token(line, 8));
      await writer.write(token(line, 8), {}, "again");
      assert.deepEqual(await world.effects(line), ["eight", "again"]);
    }),

    fenced(
      "D1 what was acknowledged before the end of the process is there afterwards, once",
      async (world) => {
        const { line } = newJob();
        for (const effect of ["a", "b", "c"]) await world.writer.write(token(line, 1), {}, effect);
        await part(world, "restart")();
        assert.deepEqual(await world.effects(line), ["a", "b", "c"]);
      },
    ),

    fenced("D3 an advance outlives the process", async (world) => {
      const { line } = newJob();
      await world.writer.advance(token(line, 8));
      const writer = await part(world, "restart")();
      await assertStale(writer.write(token(line, 7), {}, "late"), token(line, 7), token(line, 8));
    }),

    deduplicated(
      "D4 an answer outlives the process, and so does the request that it belongs to",
      async (world) => {
        const { line, scope } = newJob();
        const options = { step: "mail", scope, request: { to: "Ada" } };
        const first = await world.writer.write(token(line, 1), options, "first");
        const writer = await part(world, "restart")();
        assert.deepEqual(await writer.write(token(line, 1), options, "second"), first);
        const other = { ...options, request: { to: "Bob" } };
        await refusal(writer.write(token(line, 1), other, "third"), "LH_EFFECT_MISMATCH");
        assert.deepEqual(await world.effects(line), ["first"]);
      },
    ),

    both("D4 the mark that a replay raised outlives the process", async (world) => {
      const { line, scope } = newJob();
      await world.writer.write(token(line, 1), { step: "mail", scope }, "first");
      await world.writer.write(token(line, 2), { step: "mail", scope }, "second");
      const writer = await part(world, "restart")();
      await assertStale(writer.write(token(line, 1), {}, "late"), token(line, 1), token(line, 2));
    }),
  ],
};
