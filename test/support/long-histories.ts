import fc from "fast-check";
import type { ConformanceWorld } from "../../src/testing/index.ts";
import { stepsAfter } from "./histories.ts";
import { Replayer } from "./replay.ts";
import { seed } from "./seed.ts";

/**
 * Replays `runs` random histories of up to `length` steps, far longer than all of them could be tried. What fails is
 * shrunk to the fewest steps.
 */
export async function replayLongHistories(
  world: ConformanceWorld,
  runs: number,
  length: number,
): Promise<void> {
  const replayer = new Replayer(world);
  const picks = fc.array(fc.nat(), { minLength: 1, maxLength: length, size: "max" });
  await fc.assert(
    fc.asyncProperty(fc.boolean(), picks, async (withResource, drawn) => {
      await replayer.replay(withResource, drawn.length, (model, index) => {
        const steps = stepsAfter(model);
        return steps[(drawn[index] as number) % steps.length] as (typeof steps)[number];
      });
    }),
    { seed, numRuns: runs },
  );
}
