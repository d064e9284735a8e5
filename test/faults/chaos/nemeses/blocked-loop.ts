import type { Nemesis } from "../nemesis.ts";
import type { FaultPoint } from "../processes/faults.js";

const POINTS: readonly FaultPoint[] = [
  "before-effect-send",
  "after-effect-reply",
  "after-deadline-check",
  "before-complete-send",
  "after-claim-reply",
  "in-renewal",
];
const REACHED_WITHIN_MS = 800;

/** The event loop, or the renewer's, is busy for 0.2 to 3 leases. */
export function blockedLoop(): Nemesis {
  return {
    name: "blocked loop",
    async begin(controller, chance) {
      const member = controller.take(chance);
      if (member === undefined) return false;
      try {
        const request = controller.nextRequest();
        const ms = Math.round(chance.between(0.2, 3) * controller.leaseMs);
        const fault = { points: [chance.of(POINTS)], action: "blocked loop", ms, request } as const;
        const struck = await member.strikes(fault, REACHED_WITHIN_MS);
        if (struck !== undefined) await controller.lasts(ms);
        return struck !== undefined;
      } finally {
        controller.release(member);
      }
    },
  };
}
