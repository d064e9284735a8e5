import type { OwnServer } from "../../../support/own-server.ts";
import type { Nemesis } from "../nemesis.ts";

/** Most calls just take longer, and some leases lapse meanwhile. */
const SHORT_SHARE = 0.7;
/** In leases. */
const SHORT = [0.5, 3] as const;
/** Beyond the deadline of a call. */
const LONG = [4, 5.5] as const;

/** SIGSTOP of the whole server, for 0.5 to 3 leases, and now and then for longer than a call may take. */
export function storePause(server: OwnServer): Nemesis {
  return {
    name: "store pause",
    seizes: "store",
    async begin(controller, chance) {
      const [from, to] = chance.happens(SHORT_SHARE) ? SHORT : LONG;
      const ms = chance.between(from, to) * controller.leaseMs;
      const request = controller.began("store pause", "store", { ms });
      server.freeze();
      await controller.lasts(ms);
      server.thaw();
      controller.ended("store pause", request, "store");
      return true;
    },
  };
}
