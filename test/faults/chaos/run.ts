import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase } from "leasehold/sqlite";
import { Chance } from "../../simulation/chance.ts";
import { lastWill } from "../../support/last-will.js";
import { judge } from "./checker/judge.ts";
import { Controller } from "./controller.ts";
import { type Crew, startCrew, startDestination } from "./crew.ts";
import type { Ground } from "./ground.ts";
import { readHistories } from "./histories.ts";
import { letThingsGoWrong } from "./lanes.ts";
import type { Plan } from "./plan.ts";
import { SELECT_DECISIONS } from "./processes/decisions.js";
import { HistoryFile, monotonicMs } from "./processes/history-file.js";
import { MAX_BACKOFF_MS } from "./processes/jobs.js";
import type { DestinationEntry, RunRecord, ScheduleOfRun } from "./record.ts";
import { settingsFor } from "./settings.ts";
import { Tail } from "./tail.ts";
import { Workload } from "./workload.ts";

/** After the faults all jobs have so many leases to end: beyond it the run is over, and the checker says what is stuck. */
const END_WITHIN_LEASES = 50;
const LOOK_EVERY_MS = 50;
/** A run that has not seen enough for a verdict goes on, to so many times its length at most. */
const LONGER = 2;
const LOOK_WHETHER_ENOUGH_MS = 2_000;

export interface RunOptions {
  readonly plan: Plan;
  readonly seed: number;
  /** Of faults, or more until enough of them were seen; what comes before and after takes some seconds more. */
  readonly seconds: number;
  /** Where its files are to lie; it must be empty. Default: a new folder. */
  readonly folder?: string;
}

export interface ChaosRun {
  readonly record: RunRecord;
  /** With histories, databases and what the processes printed; the caller's to remove. */
  readonly folder: string;
}

/** One run: faults, then none until every job has ended, then what the three sides have written down. */
export async function chaosRun({ plan, seed, seconds, folder: given }: RunOptions): Promise<ChaosRun> {
  const folder = given ?? mkdtempSync(join(tmpdir(), `leasehold-chaos-${plan.name}-`));
  const histories = join(folder, "histories");
  mkdirSync(histories, { recursive: true });
  const revoke = await lastWill({ endProcessesIn: folder });
  const ends: (() => Promise<unknown>)[] = [async () => revoke()];
  try {
    const chance = new Chance(seed);
    const ground = await plan.ground(folder);
    ends.push(() => ground.close());
    const record = await withGround(ground, { plan, seed, seconds, folder, histories, chance, ends });
    writeFileSync(join(folder, "record.json"), JSON.stringify(record));
    return { record, folder };
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

interface Parts {
  readonly plan: Plan;
  readonly seed: number;
  readonly seconds: number;
  readonly folder: string;
  readonly histories: string;
  readonly chance: Chance;
  readonly ends: (() => Promise<unknown>)[];
}

async function withGround(ground: Ground, parts: Parts): Promise<RunRecord> {
  const { plan, seed, seconds, folder, histories, chance, ends } = parts;
  const store = ground.open();
  await store.open();
  await ground.prepare();
  const nemesis = new HistoryFile(histories, "nemesis", 1);
  const client = new HistoryFile(histories, "client", 1);
  const destinations = join(folder, "destinations.db");
  const { url, child, startedInMs } = await startDestination(destinations, ground.hosts);
  ends.push(() => child.kill());
  const settings = settingsFor(startedInMs);
  const workload = new Workload(store, client, chance.branch(), settings.leaseMs);
  ends.push(() => workload.close());
  const crew: Crew = await startCrew(ground, folder, histories, nemesis, url, settings);
  ends.push(() => crew.end());

  const tail = new Tail(histories);
  ends.push(async () => tail.close());
  const controller = new Controller(
    crew.members,
    workload,
    settings.leaseMs,
    Number(new URL(url).port),
    nemesis,
    tail,
  );
  ends.push(async () => controller.heal());
  await workload.schedule();
  const beganMs = monotonicMs();
  const working = workload.run(controller.healing);
  const nemeses = [...plan.nemeses(), ...(ground.nemeses ?? [])];
  const wrong = letThingsGoWrong(controller, nemeses, chance.branch(), plan.lanes);
  const record = async (healedAtMs: number, schedules: readonly ScheduleOfRun[]): Promise<RunRecord> => ({
    plan: plan.name,
    seed,
    store: ground.description,
    leaseMs: settings.leaseMs,
    pollMs: settings.pollMs,
    sweepMs: settings.sweepMs,
    marginMs: settings.marginMs,
    maxBackoffMs: MAX_BACKOFF_MS,
    seconds: (healedAtMs - beganMs) / 1_000,
    history: readHistories(histories),
    audit: await ground.audit(),
    decisions: [...(await ground.decisions()), ...(await decisionsIn(destinations))],
    healedAtMs,
    endedAtMs: monotonicMs(),
    nemeses: nemeses.map(({ nemesis: { name } }) => name),
    skipped: [...(plan.skipped ?? []), ...(ground.skipped ?? [])],
    ...(plan.floors && { floors: plan.floors }),
    ...(ground.lost && { lost: ground.lost() }),
    wallAheadMs: Date.now() - monotonicMs(),
    schedules,
    versions: `node ${process.versions.node}  ${ground.description}`,
  });

  await Promise.race([sleep(seconds * 1_000), working, wrong]);
  // A busy machine sees fewer faults in the same time: it gets more of it.
  while (monotonicMs() - beganMs < LONGER * seconds * 1_000) {
    if (hasSeenEnough(await record(monotonicMs(), []))) break;
    await Promise.race([sleep(LOOK_WHETHER_ENOUGH_MS), working, wrong]);
  }
  controller.heal();
  await Promise.all([wrong, working]);
  await Promise.all(crew.members.map((member) => member.start()));
  const healedAtMs = monotonicMs();
  nemesis.note("healed all");

  const schedule = await workload.endSchedule();
  while (
    (await workload.unfinished()) > 0 &&
    monotonicMs() - healedAtMs < END_WITHIN_LEASES * settings.leaseMs
  )
    await sleep(LOOK_EVERY_MS);
  // For so long nothing may be stuck, and less would not be judged.
  await sleep(
    Math.max(0, healedAtMs + 2 * settings.leaseMs + settings.pollMs + MAX_BACKOFF_MS - monotonicMs()),
  );
  nemesis.note("all ended", { detail: { unfinished: await workload.unfinished() } });
  await crew.stop();
  return record(healedAtMs, [schedule]);
}

function hasSeenEnough(record: RunRecord): boolean {
  return judge(record).floors.every(({ seen, wanted }) => seen >= wanted);
}

async function decisionsIn(path: string): Promise<DestinationEntry[]> {
  const database = await openDatabase(path);
  try {
    return database.prepare(SELECT_DECISIONS).all() as unknown as DestinationEntry[];
  } finally {
    database.close();
  }
}

/** For a run that nobody has to look into. */
export function forget({ folder }: ChaosRun): void {
  rmSync(folder, { recursive: true, force: true });
}
