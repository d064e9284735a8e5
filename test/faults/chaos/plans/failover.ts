import { missingOwnServer } from "../../../support/own-server.ts";
import type { Mode } from "../grounds/replicas.ts";
import { replicatedGround } from "../grounds/replicated.ts";
import { kill } from "../nemeses/kill.ts";
import { lostReply } from "../nemeses/lost-reply.ts";
import { pause } from "../nemeses/pause.ts";
import type { Plan } from "../plan.ts";

const VERSION = 15;

/** For the time that a failover takes nobody works: of what befalls workers less is seen than elsewhere. */
const FLOORS = {
  "stale effects refused": 1,
  "late completions refused": 1,
  "freezes longer than a lease during a run": 5,
  "kills during a run": 2,
};

/** While one server takes over from another, workers pause, and die. */
const failoverPlan = (mode: Mode): Plan => ({
  name: `pg-${mode}`,
  ground: replicatedGround(VERSION, mode),
  nemeses: () => [
    { nemesis: pause(), weight: 30 },
    { nemesis: kill(), weight: 8 },
    { nemesis: lostReply(), weight: 6 },
  ],
  floors: FLOORS,
  missing: () => missingOwnServer(VERSION),
});

/** Writes that were acknowledged are lost, and nothing is done twice for it that a destination could tell. */
export const asyncPlan = failoverPlan("async");

/** Nothing that was acknowledged is lost. */
export const syncPlan = failoverPlan("sync");
