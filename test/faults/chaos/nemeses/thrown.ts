import type { Nemesis } from "../nemesis.ts";
import type { FaultPoint } from "../processes/faults.js";

const POINTS: readonly FaultPoint[] = [
  "before-effect-send",
  "after-effect-reply",
  "after-deadline-check",
  "in-renewal",
];
const WITHIN_MS = 800;

/** Something throws what nobody expects there. */
export function thrown(): Nemesis {
  return {
    name: "throw",
    async begin(controller, chance) {
      const member = controller.take(chance);
      if (member === undefined) return false;
      try {
        const request = controller.nextRequest();
        return (
          (await member.strikes(
            { points: [chance.of(POINTS)], action: "throw", ms: 0, request },
            WITHIN_MS,
          )) !== undefined
        );
      } finally {
        controller.release(member);
      }
    },
  };
}
