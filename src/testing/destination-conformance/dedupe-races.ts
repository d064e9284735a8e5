import assert from "node:assert/strict";
import { systemWorld } from "../../clock/system.ts";
import { assertEffects, assertMark, hasCode, newJob, part, token } from "./fixtures.ts";
import { both, type DestinationTest, deduplicated, type EffectAnswer } from "./harness.ts";

const { timers } = systemWorld();
/** Sooner than a destination asks for: how long its effects take is not this suite's business. */
const RETRY_MS = 5;

export const dedupeRaces: readonly DestinationTest[] = [
  deduplicated(
    "D4 of eight that make the same effect at once one does, and nobody hears another answer",
    async (world) => {
      const { line, scope } = newJob();
      const writers = await Promise.all(Array.from({ length: 8 }, () => world.another()));
      const answers = await Promise.all(
        writers.map((writer, n) => orRunning(writer.write(token(line, 1), { step: "mail", scope }, `${n}`))),
      );
      const heard = answers.filter((answer) => answer !== "running");
      assert.ok(heard.length > 0, "somebody made it");
      for (const answer of heard) assert.deepEqual(answer, heard[0]);
      assert.equal((await world.effects(line)).length, 1);
      assert.deepEqual(await world.writer.write(token(line, 1), { step: "mail", scope }, "later"), heard[0]);
    },
  ),

  both(
    "D4 of eight generations that make the same effect at once one does, and the mark is the highest",
    async (world) => {
      const { line, scope } = newJob();
      const writers = await Promise.all(Array.from({ length: 8 }, () => world.another()));
      await Promise.all(
        writers.map(async (writer, n) => {
          const number = ((n * 3) % 8) + 1;
          const write = () => writer.write(token(line, number), { step: "mail", scope }, `${number}`);
          // The highest is never refused; told that the effect is running, it asks until it is answered.
          while ((await orRunning(write()).catch(unlessStale)) === "running") await timers.sleep(RETRY_MS);
        }),
      );
      assert.equal((await world.effects(line)).length, 1);
      await assertMark(world, token(line, 8));
    },
  ),

  deduplicated(
    "D4 a repeat while the effect is under way waits for its answer or is told when to ask",
    async (world) => {
      const { line, scope } = newJob();
      const options = { step: "mail", scope };
      const held = await part(world, "hold")(token(line, 1), options, "first");
      const repeating = orRunning((await world.another()).write(token(line, 1), options, "second"));
      // One that waits is answered after the end of the first; one that does not has answered before it.
      const first = await held.finish();
      const repeated = await repeating;
      if (repeated !== "running") assert.deepEqual(repeated, first);
      assert.deepEqual(await world.writer.write(token(line, 1), options, "third"), first);
      await assertEffects(world, line, ["first"]);
    },
  ),
];

async function orRunning(write: Promise<EffectAnswer>): Promise<EffectAnswer | "running"> {
  try {
    return await write;
  } catch (error) {
    if (!hasCode(error, "LH_EFFECT_RUNNING")) throw error;
    const { retryInMs } = error as { retryInMs?: unknown };
    assert.ok(typeof retryInMs === "number" && retryInMs > 0, "it says when to ask again");
    return "running";
  }
}

function unlessStale(error: unknown): "stale" {
  if (!hasCode(error, "LH_STALE_TOKEN")) throw error;
  return "stale";
}
