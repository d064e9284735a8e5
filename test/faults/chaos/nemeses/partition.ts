import type { Way } from "../../../support/cuts.ts";
import type { Part, Partitions } from "../grounds/partitioned.ts";
import type { Nemesis } from "../nemesis.ts";

/** In leases: longer than one mostly, so that somebody else takes over from one that works on, cut off from its store. */
const LASTS: Readonly<Record<Part, readonly [number, number]>> = {
  store: [0.3, 2],
  destination: [0.3, 1],
  listener: [0.3, 1],
};

export function partitionName(part: Part, way: Way): string {
  return part === "listener" ? "partition from the listener" : `partition from the ${part}, ${way}`;
}

/** One worker is cut off: what it sends is lost, or what it is answered, or both; nobody is told so. */
export function partition(partitions: Partitions, part: Part, way: Way): Nemesis {
  const name = partitionName(part, way);
  return {
    name,
    async begin(controller, chance) {
      const member = controller.take(chance);
      if (member === undefined) return false;
      const worker = controller.members.indexOf(member);
      const { destinationPort } = controller;
      try {
        const cut = await partitions.find(worker, part, way, destinationPort);
        if (cut === undefined) return false;
        const request = controller.began(name, member.name, { ...cut });
        await partitions.cut(worker, cut);
        await controller.lasts(chance.between(...LASTS[part]) * controller.leaseMs);
        await partitions.mend(worker);
        controller.ended(name, request, member.name);
        return true;
      } finally {
        controller.release(member);
      }
    },
  };
}
