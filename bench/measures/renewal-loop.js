// Leases that one owner has claimed, renewed as fast as the store can, as many a call as a renewer sends: when it is warm,
// from the first call until the time is over and the last one is answered. Each answer must be that it was renewed.

import { nowMs } from "../systems/system.js";
import { withOwn } from "./own-jobs.js";
import { inFreshPlace } from "./place.js";
import { openRows } from "./rows.js";

const FENCES_A_CALL = 500;
/** Connections are opened, statements planned. */
const WARM_UP_MS = 1_000;

/**
 * Renewals a second.
 *
 * @param {import("../systems/system.js").System} system one of Leasehold's
 * @param {import("../cases.js").Setting} setting
 * @param {{ leases: number, calls: number, forMs: number }} how `calls` under way at a time
 */
export function renewalLoop(system, setting, { leases, calls, forMs }) {
  return inFreshPlace(setting, async (place) => {
    const rows = await openRows(system, setting, place);
    await rows.fillTo(leases);
    await rows.close();
    return withOwn(system, place, async ({ claim, renew }) => {
      const batches = [];
      for (let n = 0; n < leases; n += FENCES_A_CALL) batches.push(await claim(FENCES_A_CALL));
      const renewedIn = async (/** @type {number} */ ms) => {
        let renewed = 0;
        const beganMs = nowMs();
        const loop = async () => {
          while (nowMs() - beganMs < ms) {
            // Two calls with the same leases would wait for each other, which no renewer does.
            const batch = batches.shift();
            const answers = await renew(batch);
            batches.push(batch);
            if (answers.some(({ outcome }) => outcome !== "applied"))
              throw new Error("a renewal was not applied");
            renewed += answers.length;
          }
        };
        await Promise.all(Array.from({ length: calls }, loop));
        return (renewed / (nowMs() - beganMs)) * 1_000;
      };
      await renewedIn(WARM_UP_MS);
      return renewedIn(forMs);
    });
  });
}
