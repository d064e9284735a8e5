import { blockedLoop } from "../nemeses/blocked-loop.ts";
import { deploy } from "../nemeses/deploy.ts";
import { kill } from "../nemeses/kill.ts";
import { lostReply } from "../nemeses/lost-reply.ts";
import { pause } from "../nemeses/pause.ts";
import { payload } from "../nemeses/payload.ts";
import { thrown } from "../nemeses/thrown.ts";
import type { Plan } from "../plan.ts";

/** What befalls workers on any store. */
export const workerFaults: Plan["nemeses"] = () => [
  { nemesis: pause(), weight: 30 },
  { nemesis: kill(), weight: 12 },
  { nemesis: lostReply(), weight: 12 },
  { nemesis: blockedLoop(), weight: 6 },
  { nemesis: thrown(), weight: 4 },
  { nemesis: payload(), weight: 8 },
  { nemesis: deploy(), weight: 3 },
];
