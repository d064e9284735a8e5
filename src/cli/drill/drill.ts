/** A drill from its first round to its last, and what it takes away again. */

import type { ProbeResult } from "../../destinations/destination.ts";
import type { JobId } from "../../protocol/identity.ts";
import type { Store } from "../../stores/store.ts";
import { CALL } from "../client.ts";
import { words } from "../output.ts";
import type { PlannedRound } from "./faults.ts";
import { drilledJob, playRound, type Round, type Scene } from "./round.ts";
import type { DrilledJob } from "./target.ts";

export interface Drilled {
  readonly rounds: readonly Round[];
  readonly probe: ProbeResult;
  /** What could not be taken away, for people. */
  readonly stays: readonly string[];
}

export interface Watcher {
  /** Fires when the drill is to break off. */
  readonly interrupted: AbortSignal;
  onRound(round: Round): void;
}

/** So many rounds in a row that broke off: it would go on like that. */
const HOPELESS = 3;

/** @throws what kept it from going on, when it was not interrupted; what stays is then said at once */
export async function drill(plan: readonly PlannedRound[], scene: Scene, watcher: Watcher): Promise<Drilled> {
  const jobs: DrilledJob[] = [];
  const rounds: Round[] = [];
  let probe: ProbeResult = { isProven: false, why: "it was not asked" };
  try {
    probe = await scene.target.probe();
    for await (const round of playedRounds(plan, jobs, scene, watcher.interrupted)) {
      rounds.push(round);
      watcher.onRound(round);
    }
  } catch (error) {
    if (!watcher.interrupted.aborted) {
      scene.crew.dismiss();
      for (const what of await takenAway(jobs, scene)) words(`leasehold: stays: ${what}`);
      throw error;
    }
  }
  scene.crew.dismiss();
  return { rounds, probe, stays: await takenAway(jobs, scene) };
}

async function* playedRounds(
  plan: readonly PlannedRound[],
  jobs: DrilledJob[],
  scene: Scene,
  interrupted: AbortSignal,
): AsyncGenerator<Round> {
  let brokenOff = 0;
  for (const planned of plan) {
    if (brokenOff === HOPELESS) return;
    const job = drilledJob(scene.world.ids.jobId());
    jobs.push(job);
    const round = await playRound(planned, job, scene);
    if (interrupted.aborted) return; // its processes were ended in the middle of it
    yield round;
    brokenOff = round.brokenOff === null ? 0 : brokenOff + 1;
    // Or the next round's owner would get it as well.
    if (round.brokenOff !== null) await free([job.jobId], scene.store);
  }
}

async function takenAway(jobs: readonly DrilledJob[], scene: Scene): Promise<readonly string[]> {
  const { store, target, queue } = scene;
  const stays = jobs.length === 0 ? [] : [`the empty queue ${queue} and its counts, in the store`];
  try {
    const ids = jobs.map(({ jobId }) => jobId);
    await free(ids, store);
    const answers = await store.delete(ids, CALL);
    const left = ids.filter((_, n) => !isAway(answers[n]?.outcome));
    if (left.length > 0) stays.push(`the jobs ${left.join(", ")}, in the store`);
  } catch (error) {
    stays.push(`the jobs of the queue ${queue}, in the store: ${messageOf(error)}`);
  }
  try {
    stays.push(...(await target.remove(jobs)));
  } catch (error) {
    stays.push(`what was written for ${jobs.length} jobs, in the destination: ${messageOf(error)}`);
  }
  return stays;
}

/** Ends what has not ended: nobody is to be left with one of the drill's jobs. */
async function free(ids: readonly JobId[], store: Store): Promise<void> {
  if (ids.length === 0) return;
  await store.cancel(ids, CALL);
  // A leased one has a pending cancel now, so that it ends as it is taken from its owner.
  await store.revoke(ids, CALL);
}

function isAway(outcome: string | undefined): boolean {
  return outcome === "applied" || outcome === "gone";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
