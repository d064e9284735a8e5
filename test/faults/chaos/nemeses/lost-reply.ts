import type { Nemesis } from "../nemesis.ts";
import type { LosableReply } from "../processes/faults.js";

const REPLIES: readonly LosableReply[] = ["settle", "settle", "claim", "renew"];
const WITHIN_MS = 500;

/** The store does what it is asked to, and the worker never hears so. */
export function lostReply(): Nemesis {
  return {
    name: "lost reply",
    async begin(controller, chance) {
      const member = controller.take(chance);
      if (member === undefined) return false;
      try {
        const ms = Math.round(chance.between(0, 0.5) * controller.leaseMs);
        const fault = { replyOf: chance.of(REPLIES), ms, request: controller.nextRequest() };
        return (await member.strikes(fault, WITHIN_MS)) !== undefined;
      } finally {
        controller.release(member);
      }
    },
  };
}
