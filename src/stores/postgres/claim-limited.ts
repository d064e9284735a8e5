/** Claims from queues with a limit, each in a transaction of its own. */

import { sooner } from "../../protocol/limit.ts";
import type { ClaimedJob, ClaimRequest } from "../store.ts";
import type { Call, Connections } from "./connections.ts";
import { claimWithin, SlotsTaken } from "./limits.ts";
import { type LookMemory, lookRepeatedly } from "./look.ts";

/** How often a claim from a queue with a limit is made anew, when a slot was renewed in the middle of it. */
const TRIES = 3;

/** Adds to `jobs` what the queues with a limit allow; returns when a rate allows more. */
export async function claimLimited(
  connections: Connections,
  call: Call,
  request: ClaimRequest,
  memory: LookMemory,
  jobs: ClaimedJob[],
): Promise<number | undefined> {
  let nextInMs: number | undefined;
  for (const queue of new Set(request.queues)) {
    if (!memory.hints.knowsLimit(queue)) continue;
    for (let tries = 0; tries < TRIES; tries++) {
      const wanted = Math.min(request.limit, request.places ?? request.limit) - jobs.length;
      if (wanted <= 0) return nextInMs;
      try {
        const claimed = await connections.transaction(call, (sql) =>
          claimWithin(sql, queue, request.owner, wanted, async (limit) => {
            const found: ClaimedJob[] = [];
            const one = { ...request, queues: [queue], limit };
            await lookRepeatedly(sql, one, memory, request.takeover ? "lapsed" : "ready", found, true);
            return found;
          }),
        );
        jobs.push(...claimed.jobs);
        nextInMs = sooner(nextInMs, claimed.allowedInMs);
        break;
      } catch (error) {
        memory.hints.forget(); // what it had found is not claimed
        if (error instanceof SlotsTaken) continue;
        if (jobs.length === 0) throw error;
        return nextInMs; // what was claimed before is ours, and must not be lost with this answer
      }
    }
  }
  return nextInMs;
}
