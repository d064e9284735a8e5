import type { Chance } from "../../../simulation/chance.ts";
import { caughtUp, makeLag } from "../../postgres/standby-world.ts";
import type { Controller } from "../controller.ts";
import type { Replicas } from "../grounds/replicas.ts";
import type { Nemesis } from "../nemesis.ts";
import { monotonicMs } from "../processes/history-file.js";
import type { HistoryEvent } from "../record.ts";

/** Of the promotions, how many are followed by another one before anybody has followed. */
const TWICE = 0.2;
/** Of the synchronous ones, how often the old primary works on: nobody follows it, and so it can promise nothing. */
const SYNC_ZOMBIE = 0.4;
/** Of the synchronous ones, how often the standby gets what is on the way when it goes on. */
const STANDBY_HANGS = 0.5;
const CANCEL_EVERY_MS = 60;
/** In leases. */
const HANGS = [1, 3] as const;
const ZOMBIE_WORKS = [0.5, 3] as const;
const AWAITED = 4;
/** Between two: for what befalls workers, which have to be at work for it. */
const AT_PEACE = [4, 10] as const;

const isGrant = ({ kind, op, job }: HistoryEvent): boolean =>
  kind === "ok" && op === "claim" && job !== undefined;

/**
 * The primary is killed and its standby promoted: asynchronously, without the last writes, which were acknowledged; or
 * synchronously, after some whose wait for the standby was cancelled, so that nobody can tell. The old primary works on for
 * a while with those who have not heard of the new one. Then it is made the standby of that.
 */
export function failover(replicas: Replicas): Nemesis {
  const { mode } = replicas;
  return {
    name: "failover",
    seizes: "store",
    async begin(controller, chance) {
      const isAsync = mode === "async";
      const lostAfter = isAsync ? { lostAfterMs: monotonicMs() } : {};
      const request = controller.began("failover", "store", { mode, ...lostAfter });
      const waitsCancelled = isAsync
        ? await loseTheLast(controller, replicas)
        : await cancelWaits(controller, chance, replicas);
      const hasZombie = isAsync || chance.happens(SYNC_ZOMBIE);
      const isTwice = chance.happens(TWICE);
      await takeOver(controller, chance, replicas, { hasZombie, isTwice });
      const lost = await replicas.keepLost();
      await replicas.standby.kill("all");
      controller.ended("failover", request, "store", {
        mode,
        ...lostAfter,
        waitsCancelled,
        lost,
        hasZombie,
        promotions: isTwice ? 2 : 1,
      });
      if (!controller.healing.aborted) await pairUp(controller, replicas);
      await controller.lasts(chance.between(...AT_PEACE) * controller.leaseMs);
      return true;
    },
  };
}

/** Until something was granted that the standby will never hear of. */
async function loseTheLast(controller: Controller, { primary, standby }: Replicas): Promise<number> {
  await caughtUp(primary, standby);
  await makeLag(primary);
  await controller.until(isGrant, AWAITED * controller.leaseMs);
  await primary.kill("all");
  return 0;
}

/** Commits wait for a standby that hangs, or that is out of reach, until somebody has enough of it. */
async function cancelWaits(
  controller: Controller,
  chance: Chance,
  { primary, standby }: Replicas,
): Promise<number> {
  if (chance.happens(STANDBY_HANGS)) standby.freeze();
  else await makeLag(primary);
  const untilMs = monotonicMs() + chance.between(...HANGS) * controller.leaseMs;
  let cancelled = 0;
  while (cancelled === 0 || monotonicMs() < untilMs) {
    await controller.lasts(CANCEL_EVERY_MS);
    const waiting = await primary.query(
      "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'",
    );
    cancelled += waiting.length;
    if (controller.healing.aborted) break;
  }
  await primary.kill("all");
  standby.thaw();
  return cancelled;
}

async function takeOver(
  controller: Controller,
  chance: Chance,
  replicas: Replicas,
  { hasZombie, isTwice }: { readonly hasZombie: boolean; readonly isTwice: boolean },
): Promise<void> {
  const { switches } = replicas;
  await replicas.promote();
  if (isTwice) await replicas.promoteAgain();
  for (const way of ["client", "first"] as const) await switches.move(way, replicas.primary);
  if (!hasZombie) await switches.move("second", replicas.primary);
  await replicas.startZombie();
  if (!hasZombie) return;
  if (replicas.mode === "async") await controller.until(isGrant, AWAITED * controller.leaseMs);
  await controller.lasts(chance.between(...ZOMBIE_WORKS) * controller.leaseMs);
  await switches.move("second", replicas.primary);
}

async function pairUp(controller: Controller, replicas: Replicas): Promise<void> {
  const request = controller.began("store restart", "store");
  await replicas.pairUp();
  controller.ended("store restart", request, "store");
}
