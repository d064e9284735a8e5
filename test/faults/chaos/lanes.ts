import type { Chance } from "../../simulation/chance.ts";
import type { Controller } from "./controller.ts";
import type { Plan, Weighted } from "./plan.ts";

/** Between two faults of one lane, ms. */
const REST_MS = [20, 120] as const;
const LANES = 3;
/** What counts for a use where nothing could be done: it comes sooner again, and does not keep all others from coming. */
const A_MISS = 0.25;

/** Lets things go wrong, some at once, until the faults are over; resolves when all is mended. */
export async function letThingsGoWrong(
  controller: Controller,
  weighted: readonly Weighted[],
  chance: Chance,
  lanes: Plan["lanes"] = LANES,
): Promise<void> {
  const nemeses = weighted.map((of) => ({ ...of, uses: 0 }));
  const seized = new Set<string>();
  const lane = async (own: Chance): Promise<void> => {
    while (!controller.healing.aborted) {
      // Who is furthest behind its share is next, so that short runs see all of them.
      const shares = nemeses
        .filter(({ nemesis: { seizes } }) => seizes === undefined || !seized.has(seizes))
        .map((each) => ({ each, share: (each.uses + own.next()) / each.weight }));
      const { each } = shares.reduce((least, other) => (other.share < least.share ? other : least));
      const { seizes } = each.nemesis;
      each.uses += 1;
      if (seizes !== undefined) seized.add(seizes);
      const was = await each.nemesis.begin(controller, own);
      if (seizes !== undefined) seized.delete(seizes);
      if (!was) each.uses -= 1 - A_MISS;
      await controller.lasts(own.between(...REST_MS));
    }
  };
  await Promise.all(Array.from({ length: lanes }, () => lane(chance.branch())));
  for (const { nemesis } of nemeses) await nemesis.heal?.(controller);
}
