import type { SmallDisk } from "../../../support/small-disk.ts";
import type { Nemesis } from "../nemesis.ts";

/** In leases. */
const LASTS = [0.5, 3] as const;

/** Nothing can be written to the file: calls fail, and what they were told before stays true. */
export function diskFull(disk: SmallDisk): Nemesis {
  return {
    name: "disk full",
    seizes: "store",
    async begin(controller, chance) {
      const request = controller.began("disk full", "store");
      await disk.fill();
      await controller.lasts(chance.between(...LASTS) * controller.leaseMs);
      await disk.empty();
      controller.ended("disk full", request, "store");
      return true;
    },
  };
}
