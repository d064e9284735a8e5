/** Sets a drill's scene in the caller's store, plays it, and leaves the scene as it was. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Random, World } from "../../clock/world.ts";
import type { DestinationLevel } from "../../destinations/destination.ts";
import type { Store } from "../../stores/store.ts";
import type { AccountPlace } from "../accounts/account.ts";
import type { Choice } from "../accounts/kinds.ts";
import { startService } from "../accounts/service.ts";
import { Children } from "../children.ts";
import { words } from "../output.ts";
import { startProgress } from "../progress.ts";
import { storeAt, storeLocation } from "../store-url.ts";
import { Crew } from "./crew.ts";
import { drill } from "./drill.ts";
import { type FaultName, plannedRounds } from "./faults.ts";
import { figuresOf } from "./figures.ts";
import { JOB, type TargetPlace } from "./messages.ts";
import type { Report } from "./report.ts";
import { openTarget } from "./target.ts";
import { verdictOf } from "./verdict.ts";

export interface DrillOptions {
  readonly store: string | undefined;
  readonly place: Choice | { readonly module: string };
  readonly faults: readonly FaultName[];
  readonly rounds: number;
  readonly leaseMs: number;
  readonly expected: DestinationLevel | undefined;
  readonly seed: number;
}

export interface DrillTools {
  readonly world: World;
  /** What the seed decides. */
  readonly random: Random;
  readonly interrupted: AbortSignal;
}

/** How much longer than a lease any one thing may take in a round, ms: the start of a process, a poll, a busy store. */
const PATIENCE_MS = 30_000;

export async function runDrill(options: DrillOptions, tools: DrillTools): Promise<Report> {
  const location = storeLocation(options.store);
  const store = await storeAt(location, { create: false, migrate: false });
  const folder = await mkdtemp(join(tmpdir(), "leasehold-drill-"));
  const children = new Children();
  const dismiss = (): void => children.dismiss();
  tools.interrupted.addEventListener("abort", dismiss, { once: true });
  try {
    await store.open();
    const name = `${JOB}-${tools.world.ids.jobId()}`;
    const place = await targetPlace(options.place, name, folder, children);
    const spec = { store: location, queue: name, leaseMs: options.leaseMs, target: place };
    const crew = new Crew(children, spec, tools.world.timers, 3 * options.leaseMs + PATIENCE_MS);
    return await played({ options, tools, store, place, folder, queue: name, crew });
  } finally {
    tools.interrupted.removeEventListener("abort", dismiss);
    children.dismiss();
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function targetPlace(
  place: DrillOptions["place"],
  name: string,
  folder: string,
  children: Children,
): Promise<TargetPlace> {
  if ("module" in place) return { module: resolve(place.module) };
  const service = place.kind === "http" ? await startService(children, join(folder, "service.db")) : "";
  // Short enough for a schema's name, and as much the drill's own.
  const schema = name.replaceAll("-", "").replace("leasehold", "leasehold_");
  const account: AccountPlace = { ...place, folder, service, name: schema };
  return { account };
}

interface Stage {
  readonly options: DrillOptions;
  readonly tools: DrillTools;
  readonly store: Store;
  readonly place: TargetPlace;
  readonly folder: string;
  readonly queue: string;
  readonly crew: Crew;
}

async function played({ options, tools, store, place, folder, queue, crew }: Stage): Promise<Report> {
  const { world, random, interrupted } = tools;
  const { leaseMs, seed, expected } = options;
  const plan = plannedRounds(options.faults, options.rounds, random);
  const target = await openTarget(place);
  const progress = await startProgress({ of: "rounds", failed: "broken off" });
  const beganMs = world.clock.monotonicMs();
  let done = 0;
  let brokenOff = 0;
  try {
    // Should it be killed outright, this says what is left, and how to see the same again.
    words(`leasehold: drilling ${store.description} in the queue ${queue}, seed ${seed}.`);
    progress.update(0, plan.length, 0);
    const drilled = await drill(
      plan,
      { store, queue, leaseMs, target, crew, world, folder },
      {
        interrupted,
        onRound(round) {
          if (round.brokenOff !== null) brokenOff++;
          progress.update(++done, plan.length, brokenOff);
        },
      },
    );
    const { name, level } = target;
    const { rounds, probe, stays } = drilled;
    const figures = figuresOf(rounds, plan);
    const verdict = verdictOf(figures, { level, probe, expected });
    return {
      ok: verdict.exitCode === 0,
      store: store.description,
      destination: { name, level, probe, expected: expected ?? null },
      seed,
      leaseMs,
      rounds: rounds.length,
      seconds: Number(((world.clock.monotonicMs() - beganMs) / 1_000).toFixed(1)),
      figures,
      verdict,
      stays,
      interruptedBy: interrupted.aborted ? String(interrupted.reason) : null,
    };
  } finally {
    progress.stop();
    await target.close();
  }
}
