import type { Nemesis } from "../nemesis.ts";

/** How long a worker may take to reach its next transaction, ms. */
const REACHED_WITHIN_MS = 800;
/** In leases: a file has one writer, so that nobody can write meanwhile. */
const FROZEN = [0.3, 2] as const;

/** SIGSTOP in a transaction, with the file's write lock held. */
export function writerFrozen(): Nemesis {
  return {
    name: "writer frozen",
    async begin(controller, chance) {
      const member = controller.take(chance);
      if (member === undefined) return false;
      try {
        const request = controller.nextRequest();
        const fault = { points: ["in-store-transaction"], action: "writer frozen", ms: 0, request } as const;
        if ((await member.strikes(fault, REACHED_WITHIN_MS)) === undefined) return false;
        await controller.lasts(chance.between(...FROZEN) * controller.leaseMs);
        member.signal("SIGCONT");
        controller.ended("writer frozen", request, member.name);
        return true;
      } finally {
        controller.release(member);
      }
    },
  };
}

/** SIGKILL in a transaction, with the file's write lock held: the next one finds nothing of it. */
export function writerKilled(): Nemesis {
  return {
    name: "writer killed",
    async begin(controller, chance) {
      const member = controller.take(chance);
      if (member === undefined) return false;
      try {
        const request = controller.nextRequest();
        const fault = { points: ["in-store-transaction"], action: "writer killed", ms: 0, request } as const;
        if ((await member.strikes(fault, REACHED_WITHIN_MS)) === undefined) return false;
        await member.gone();
        await member.start();
        controller.ended("writer killed", request, member.name);
        return true;
      } finally {
        controller.release(member);
      }
    },
  };
}
