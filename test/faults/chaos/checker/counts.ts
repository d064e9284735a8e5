/** What a run saw, in numbers. */

import { EPOCH_SIZE } from "../../../../src/protocol/floor.ts";
import { isEnded } from "../../../../src/protocol/job.ts";
import type { DestinationEntry } from "../record.ts";
import { answerOf, fenceKey, told } from "./calls.ts";
import { BLIND, fencedDecisions } from "./effects.ts";
import { type Evidence, groupBy } from "./evidence.ts";
import type { Fault } from "./faults.ts";
import { hasBegun } from "./processes.ts";
import type { Run } from "./runs.ts";
import { grantsOf } from "./transitions-judged.ts";

export interface Counts {
  readonly workers: number;
  readonly incarnations: number;
  /** Of processes that were told to stop while Node started, and hung: no line of theirs has run. */
  readonly hungAtStart: number;
  readonly jobs: {
    readonly enqueued: number;
    readonly done: number;
    readonly failed: number;
    readonly cancelled: number;
    readonly open: number;
  };
  readonly nemeses: Readonly<Record<string, { readonly uses: number; readonly aimed: number }>>;
  /** `afterMs`: how long after their expiry lapsed leases were taken over, by the store's clock, in order. */
  readonly claims: { readonly all: number; readonly reclaims: number; readonly afterMs: readonly number[] };
  readonly renewals: { readonly ok: number; readonly refused: number; readonly unknown: number };
  readonly effects: { readonly applied: number; readonly duplicate: number; readonly stale: number };
  readonly blind: { readonly twice: number; readonly outOfOrder: number };
  readonly ends: {
    readonly ok: number;
    readonly lateRefused: number;
    readonly unknown: number;
    readonly resolved: number;
  };
  /** Calls whose outcome their callers never learnt, or not at once. */
  readonly unknown: number;
  readonly longFreezes: number;
  readonly killsInRuns: number;
  readonly failover: {
    readonly rounds: { readonly async: number; readonly sync: number };
    readonly grantsLost: number;
    /** Of the lost ones, by another owner: the same token, and another one which only the floor tells apart from it. */
    readonly givenAgain: number;
    readonly toldApart: number;
    readonly endsLost: number;
    readonly waitsCancelled: number;
  };
  readonly events: number;
  readonly auditRows: number;
}

export function countsOf(evidence: Evidence): Counts {
  const { record, changes, finals, faults, lives, calls, notes } = evidence;
  const states = [...finals.values()].map(({ state }) => state);
  const count = (state: string): number => states.filter((one) => one === state).length;
  const workers = [...lives.values()].filter(({ process }) => process.startsWith("worker"));
  const claims = changes.filter(({ operation }) => operation === "claim");
  const reclaims = claims.filter(({ before }) => before?.owner != null);
  const decisions = fencedDecisions(evidence);
  const decided = (decision: string): number => decisions.filter((one) => one.decision === decision).length;
  return {
    workers: new Set(workers.map(({ process }) => process)).size,
    incarnations: workers.length,
    hungAtStart: (notes.get("hung") ?? []).filter(
      ({ target, detail }) => !hasBegun(notes, target, detail?.["incarnation"]),
    ).length,
    jobs: {
      enqueued: finals.size,
      done: count("completed"),
      failed: count("failed"),
      cancelled: count("cancelled"),
      open: states.filter((state) => !isEnded({ state })).length,
    },
    nemeses: nemesesOf(faults),
    claims: {
      all: claims.length,
      reclaims: reclaims.length,
      afterMs: reclaims
        .map(({ before, nowMs }) => nowMs - (before?.leaseUntilMs ?? nowMs))
        .sort((one, other) => one - other),
    },
    renewals: renewalsOf(evidence),
    effects: { applied: decided("applied"), duplicate: decided("duplicate"), stale: decided("stale") },
    blind: blindOf(record.decisions.filter(({ destination }) => destination === BLIND)),
    ends: endsOf(evidence),
    unknown: calls.filter(({ replies }) => replies.some(({ kind }) => kind === "info")).length,
    longFreezes: freezesInRuns(evidence, record.leaseMs),
    killsInRuns: killsInRuns(evidence),
    failover: failoverOf(evidence),
    events: record.history.length,
    auditRows: record.audit.length,
  };
}

function nemesesOf(faults: readonly Fault[]): Counts["nemeses"] {
  const nemeses: Record<string, Counts["nemeses"][string]> = {};
  for (const { name, detail } of faults) {
    const { uses, aimed } = nemeses[name] ?? { uses: 0, aimed: 0 };
    nemeses[name] = { uses: uses + 1, aimed: aimed + (detail["aimed"] === true ? 1 : 0) };
  }
  return nemeses;
}

function renewalsOf({ callsByOp }: Evidence): Counts["renewals"] {
  const answers = (callsByOp.get("renew") ?? []).map((call) => answerOf(call));
  const isLost = (outcome: string | undefined): boolean => outcome !== "busy";
  return {
    ok: answers.filter((one) => one.told === "yes").length,
    refused: answers.filter((one) => one.told === "no" && isLost(one.reply?.outcome)).length,
    unknown: answers.filter((one) => one.told === "unknown").length,
  };
}

/** Per fence: a settling whose outcome was unknown is repeated until it is known. */
function endsOf({ callsByOp }: Evidence): Counts["ends"] {
  const settles = callsByOp.get("settle") ?? [];
  const unknown = new Set<string>();
  const resolved = new Set<string>();
  let ok = 0;
  let lateRefused = 0;
  for (const call of settles) {
    const { told: answer, reply } = answerOf(call);
    const key = fenceKey(call.invoke);
    if (call.replies.some((one) => told(one) === "unknown")) unknown.add(key);
    if (answer !== "unknown") resolved.add(key);
    if (answer === "yes") ok += 1;
    const isCompletion = (call.invoke.outcome ?? "complete") === "complete";
    if (answer === "no" && isCompletion && (reply?.outcome ?? "stale") === "stale") lateRefused += 1;
  }
  const both = [...unknown].filter((key) => resolved.has(key)).length;
  return { ok, lateRefused, unknown: unknown.size, resolved: both };
}

function blindOf(decisions: readonly DestinationEntry[]): Counts["blind"] {
  const seen = new Set<string>();
  const highest = new Map<string, number>();
  let twice = 0;
  let outOfOrder = 0;
  for (const { key, line, generation } of decisions) {
    if (seen.has(key)) twice += 1;
    seen.add(key);
    if (generation < (highest.get(line) ?? 0)) outOfOrder += 1;
    highest.set(line, Math.max(generation, highest.get(line) ?? 0));
  }
  return { twice, outOfOrder };
}

function duringRun(runs: readonly Run[], { target, fromMs }: Fault): boolean {
  return runs.some((run) => run.process === target && run.beganMs <= fromMs && run.endedMs >= fromMs);
}

function freezesInRuns({ faults, runs }: Evidence, leaseMs: number): number {
  const freezes = faults.filter(({ kind, fromMs, toMs }) => kind === "freeze" && toMs - fromMs > leaseMs);
  return freezes.filter((fault) => duringRun(runs, fault)).length;
}

function killsInRuns({ faults, runs }: Evidence): number {
  return faults.filter((fault) => fault.kind === "kill" && duringRun(runs, fault)).length;
}

function failoverOf({ faults, lost, changes, callsByOp }: Evidence): Counts["failover"] {
  const failovers = faults.filter(({ kind }) => kind === "failover");
  const sum = (name: string): number =>
    failovers.reduce((total, { detail }) => total + (Number(detail[name]) || 0), 0);
  const sync = failovers.filter(({ detail }) => detail["mode"] === "sync").length;
  const settled = new Set(
    (callsByOp.get("settle") ?? []).flatMap((call) =>
      answerOf(call).told === "yes" ? [fenceKey(call.invoke)] : [],
    ),
  );
  const lostTokens = grantsOf(lost).map(({ token }) => token);
  const kept = groupBy(
    grantsOf(changes).map(({ token }) => token),
    ({ line }) => line,
  );
  const isGranted = (is: (lost: number, kept: number) => boolean): number =>
    lostTokens.filter(({ line, generation }) =>
      kept.get(line)?.some((other) => is(generation, other.generation)),
    ).length;
  return {
    rounds: { async: failovers.length - sync, sync },
    grantsLost: lost.filter(({ operation }) => operation === "claim").length,
    givenAgain: isGranted((one, other) => one === other),
    toldApart: isGranted((one, other) => Math.floor(other / EPOCH_SIZE) > Math.floor(one / EPOCH_SIZE)),
    endsLost: lost.filter(
      ({ operation, fence }) => operation !== "renew" && fence !== undefined && settled.has(fenceKey(fence)),
    ).length,
    waitsCancelled: sum("waitsCancelled"),
  };
}
