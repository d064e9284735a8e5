import type { Clocks } from "../../../support/faketime.ts";
import type { Home } from "../ground.ts";
import type { Nemesis } from "../nemesis.ts";

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
/** Somebody sets it, a time zone is taken for another, or a battery was empty. */
const OFFSETS_MS = [90 * SECOND_MS, -90 * SECOND_MS, HOUR_MS, -HOUR_MS, YEAR_MS];
/** In leases. */
const LASTS = [0.5, 4] as const;

/** Of the workers: reading a clock that may be set costs, so that more of them would leave a busy machine no time for work. */
const WITH_CLOCKS = ["worker 1", "worker 2"];

/** @param worker counted from 0 */
export function homeWithClock(clocks: Clocks, worker: number): Home {
  const name = `worker ${worker + 1}`;
  return WITH_CLOCKS.includes(name) ? { env: clocks.env(name) } : {};
}

/** @param names of the clocks that are set off together */
export function clock(clocks: Clocks, names: (member: string) => readonly string[]): Nemesis {
  return {
    name: "clock",
    seizes: "clock",
    async begin(controller, chance) {
      const offsetMs = chance.of(OFFSETS_MS);
      const targets = names(chance.of(WITH_CLOCKS));
      // Of several, those whose clocks differ meanwhile see both orders.
      const set = targets.map((target) => {
        const request = controller.began("clock", target, { offsetMs });
        clocks.setOff(target, offsetMs);
        return { target, request };
      });
      await controller.lasts(chance.between(...LASTS) * controller.leaseMs);
      for (const { target, request } of set) {
        clocks.setOff(target, 0);
        controller.ended("clock", request, target);
      }
      return true;
    },
  };
}

/** The clock of one worker, which on a file is the store's (T1). */
export const workersClock = (clocks: Clocks): Nemesis => clock(clocks, (member) => [member]);

/** That of a server. */
export const storesClock = (clocks: Clocks): Nemesis => clock(clocks, () => ["store"]);

/** Both are off by the same. */
export const bothClocks = (clocks: Clocks): Nemesis => clock(clocks, (member) => [member, "store"]);
