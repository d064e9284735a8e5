import type { Chance } from "../../../simulation/chance.ts";
import type { Controller } from "../controller.ts";
import type { Struck } from "../member.ts";
import type { Nemesis } from "../nemesis.ts";
import type { FaultPoint } from "../processes/faults.js";
import type { HistoryEvent } from "../record.ts";

/** Most often between the deadline check and the send, and before a completion: there a pause makes late writes. */
const AIMS: readonly (readonly FaultPoint[])[] = [
  ["before-effect-send", "after-deadline-check"],
  ["before-effect-send"],
  ["before-effect-send"],
  ["before-effect-send"],
  ["before-complete-send"],
  ["before-complete-send"],
  ["after-claim-reply", "after-effect-reply", "after-complete-reply", "in-renewal"],
  ["in-store-transaction"],
];

/** How long a worker may take to reach the point, ms. */
const REACHED_WITHIN_MS = 800;
const AIMED = 0.85;
/** Of the aimed ones, not where nothing would refuse them. */
const FENCED = 0.8;
/** Of the aimed ones, until somebody has taken over and is ahead: how long that takes is the machine's business. */
const UNTIL_REPLACED = 0.75;
/** In leases. */
const LONGEST = 5;

/** SIGSTOP, at a fault point or anywhere, for 0.2 to 5 leases. */
export function pause(): Nemesis {
  return {
    name: "pause",
    async begin(controller, chance) {
      const member = controller.take(chance);
      if (member === undefined) return false;
      try {
        const points = chance.happens(AIMED) ? chance.of(AIMS) : undefined;
        const ms = lengthMs(controller, chance, points);
        let request = controller.nextRequest();
        const struck =
          points &&
          (await member.strikes(
            { points, action: "pause", ms: 0, request, fenced: chance.happens(FENCED) },
            REACHED_WITHIN_MS,
          ));
        if (struck === undefined) {
          if (!member.isRunning) return false;
          request = controller.began("pause", member.name, { ms, aimed: false });
          member.signal("SIGSTOP");
        }
        const replaced = struck && isReplaced(member.name, struck);
        if (replaced !== undefined && chance.happens(UNTIL_REPLACED))
          await controller.until(replaced, LONGEST * controller.leaseMs);
        else await controller.lasts(ms);
        await member.resume();
        controller.ended("pause", request, member.name);
        return true;
      } finally {
        controller.release(member);
      }
    },
  };
}

/**
 * Somebody else has begun the effect, or the job that was to be completed. Undefined where nothing is late by that.
 */
function isReplaced(
  name: string,
  { jobs = [], destination }: Struck,
): ((event: HistoryEvent) => boolean) | undefined {
  if (jobs.length === 0) return undefined;
  const wanted = destination === undefined ? "claim" : "write";
  return ({ process, kind, op, job, destination: at }) =>
    process !== name && kind === "ok" && op === wanted && jobs.includes(job ?? "") && at === destination;
}

/** Long enough for somebody else to take over, mostly. In a transaction shorter: there it holds everybody up. */
function lengthMs(
  { leaseMs }: Controller,
  chance: Chance,
  points: readonly FaultPoint[] | undefined,
): number {
  if (points?.includes("in-store-transaction")) return chance.between(0.2, 1.5) * leaseMs;
  if (points === undefined || chance.happens(0.2)) return chance.between(0.2, 5) * leaseMs;
  return chance.between(1.8, 3) * leaseMs;
}
