import type { Nemesis } from "../nemesis.ts";
import type { FaultPoint } from "../processes/faults.js";

const AIMS: readonly (readonly FaultPoint[])[] = [
  ["after-deadline-check", "before-effect-send", "after-effect-reply"],
  ["before-complete-send", "after-complete-reply"],
  ["in-store-transaction"],
  ["after-claim-reply"],
  ["in-renewal"],
];

/** How long a worker may take to reach the point, ms. */
const REACHED_WITHIN_MS = 600;
const AIMED = 0.7;

/** SIGKILL, at a fault point or anywhere; another process takes its place after 0 to 2 leases. */
export function kill(): Nemesis {
  return {
    name: "kill",
    async begin(controller, chance) {
      const member = controller.take(chance);
      if (member === undefined) return false;
      try {
        let request = controller.nextRequest();
        const struck =
          chance.happens(AIMED) &&
          (await member.strikes(
            { points: chance.of(AIMS), action: "kill", ms: 0, request },
            REACHED_WITHIN_MS,
          ));
        if (!struck && member.isRunning) {
          request = controller.began("kill", member.name, { aimed: false });
          member.signal("SIGKILL");
        }
        await member.gone();
        await controller.lasts(chance.between(0, 2) * controller.leaseMs);
        await member.start();
        controller.ended("kill", request, member.name);
        return true;
      } finally {
        controller.release(member);
      }
    },
  };
}
