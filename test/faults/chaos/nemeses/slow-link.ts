import type { Chance } from "../../../simulation/chance.ts";
import type { Links } from "../grounds/links.ts";
import type { Nemesis } from "../nemesis.ts";
import type { Condition } from "../processes/link.js";

/** In leases. */
const LASTS = [0.5, 4] as const;
const DELAY = [0.05, 0.8] as const;
/** So little that a batch takes a while, and whoever sends has to wait. */
const BYTES_PER_SECOND = [4_000, 40_000] as const;

/**
 * The way of one worker to its store is slow: what is sent comes late, or little of it at a time; what is said in one
 * direction does not come through at all until later; or its connections are reset.
 */
export function slowLink(links: Links): Nemesis {
  return {
    name: "slow link",
    async begin(controller, chance) {
      const member = controller.take(chance);
      if (member === undefined) return false;
      const worker = controller.members.indexOf(member);
      try {
        if (!links.ports.has(worker)) return false;
        const how = chance.of(CONDITIONS);
        const condition = how?.(chance, controller.leaseMs);
        const request = controller.began("slow link", member.name, {
          ...condition,
          reset: how === undefined,
        });
        if (condition === undefined) {
          await links.reset(worker);
        } else {
          await links.becomes(worker, condition);
          await controller.lasts(chance.between(...LASTS) * controller.leaseMs);
          await links.becomes(worker);
        }
        controller.ended("slow link", request, member.name);
        return true;
      } finally {
        controller.release(member);
      }
    },
  };
}

const CONDITIONS: readonly (((chance: Chance, leaseMs: number) => Condition) | undefined)[] = [
  undefined, // a reset
  () => ({ holds: "requests" }),
  () => ({ holds: "replies" }),
  (chance, leaseMs) => ({ delayMs: { requests: chance.between(...DELAY) * leaseMs } }),
  (chance, leaseMs) => ({ delayMs: { replies: chance.between(...DELAY) * leaseMs } }),
  (chance, leaseMs) => {
    const ms = chance.between(...DELAY) * leaseMs;
    return { delayMs: { requests: ms / 2, replies: ms / 2 } };
  },
  (chance) => ({ bytesPerSecond: chance.whole(...BYTES_PER_SECOND) }),
];
