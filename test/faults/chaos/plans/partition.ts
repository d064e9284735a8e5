import { missingCuts } from "../../../support/cuts.ts";
import { missingOwnServer } from "../../../support/own-server.ts";
import { partitionedGround } from "../grounds/partitioned.ts";
import { partitionName } from "../nemeses/partition.ts";
import { pause } from "../nemeses/pause.ts";
import type { Plan } from "../plan.ts";

const VERSION = 18;
/** Of each kind. */
const CUTS = 10;

const names = [
  ...(["both", "requests", "replies"] as const).flatMap((way) => [
    partitionName("store", way),
    partitionName("destination", way),
  ]),
  partitionName("listener", "both"),
];

/** Workers are cut off from their store, from the destination of their effects, or from what wakes them up. */
export const partitionPlan: Plan = {
  name: "partition",
  ground: partitionedGround(VERSION),
  nemeses: () => [{ nemesis: pause(), weight: 12 }],
  floors: {
    ...Object.fromEntries(names.map((name) => [`uses of ${name}`, CUTS])),
    "freezes longer than a lease during a run": 3,
    "kills during a run": 0,
    "stale effects refused": 5,
  },
  missing: () => missingOwnServer(VERSION) ?? missingCuts(),
};
