/**
 * C2. One statement finds, locks and writes (look.ts); sweeps run beside it, and queues with a limit of their own are asked
 * apart, before or after the others as their turn is.
 */

import { sooner } from "../../protocol/limit.ts";
import type { Claimed, ClaimedJob, ClaimRequest } from "../store.ts";
import { claimLimited } from "./claim-limited.ts";
import type { Call, Connections } from "./connections.ts";
import { type LookMemory, lookRepeatedly } from "./look.ts";
import type { Sweep } from "./sweep.ts";

/** What a store brings to its claims, and keeps between them. */
export interface ClaimMemory extends LookMemory {
  readonly sweep: Sweep;
  /** A sweep beside an earlier claim has changed something. */
  readonly onSwept: () => void;
  /** Calls `fn` at the next ring, unless it is told to forget it. */
  readonly onRing: (fn: () => void) => () => void;
}

/** @throws {HistoryChanged} nothing was claimed: the floor must be raised first */
export async function claim(
  connections: Connections,
  call: Call,
  request: ClaimRequest,
  memory: ClaimMemory,
): Promise<Claimed> {
  const { sweep } = memory;
  const sql = connections.on(call);
  const jobs: ClaimedJob[] = [];
  const due = sweep.isDue(request.takeover);
  const isFirst = memory.hints.knowsLimit(request.queues[0] ?? "");
  let allowedInMs = isFirst ? await claimLimited(connections, call, request, memory, jobs) : undefined;
  const first = request.takeover && sweep.followsLapse ? "lapsed behind the hint" : "ready";
  let dueInMs = due === "now" ? undefined : await lookRepeatedly(sql, request, memory, first, jobs);
  if (due === "now" || (due !== "no" && jobs.length === 0)) {
    const swept = sweep.begin(connections, call, request);
    swept.catch(() => {});
    if (sweep.isAwaited) await swept;
    const reach = request.takeover ? "lapsed" : "ready";
    dueInMs = await lookRepeatedly(sql, request, memory, reach, jobs);
    // Who found jobs does not wait for it: what it finds is told by the next claim.
    if (jobs.length > 0) swept.then((changed) => changed && memory.onSwept()).catch(() => {});
    else if (await sweptOrRung(swept, memory))
      dueInMs = await lookRepeatedly(sql, request, memory, reach, jobs);
  }
  if (request.takeover) sweep.followsLapse = jobs.some(({ previous }) => previous !== undefined);
  if (!isFirst) allowedInMs = await claimLimited(connections, call, request, memory, jobs);
  return { jobs, ended: sweep.takeEnded(), nextDueInMs: notPast(sooner(dueInMs, allowedInMs)) };
}

/**
 * Whether to look again. A sweep is many statements: who waits for it is there at once when the bell rings, as one who sleeps
 * would be.
 */
function sweptOrRung(swept: Promise<boolean>, { onRing, onSwept }: ClaimMemory): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let isRung = false;
    const forget = onRing(() => {
      isRung = true;
      resolve(true);
    });
    swept
      .then((changed) => {
        if (isRung && changed) onSwept();
        resolve(changed);
      }, reject)
      .finally(forget);
  });
}

function notPast(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.max(0, ms);
}
