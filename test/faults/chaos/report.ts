/** A verdict for people: the numbers, what broke with its surroundings, and how to play it again. */

import type { Counts } from "./checker/counts.ts";
import { type Finding, INVARIANTS, type Invariant, type Measures, type Verdict } from "./checker/verdict.ts";
import type { RunRecord } from "./record.ts";

export function reportOf(record: RunRecord, verdict: Verdict): string {
  const { plan, seed, store, leaseMs, pollMs, seconds, versions, skipped } = record;
  const replay = `replay: npm run chaos -- --plan ${plan} --seed ${seed}`;
  const head = [
    `leasehold chaos ${plan}`,
    `seed ${seed}`,
    versions ?? `node ${process.versions.node}`,
    store,
  ];
  return [
    `${head.join("  ")}  lease ${leaseMs} ms  poll ${pollMs} ms  ${seconds.toFixed(1)} s`,
    ...(verdict.counts === undefined ? [] : numbers(verdict.counts, record)),
    ...(verdict.measures === undefined ? [] : measured(verdict.measures, verdict.findings)),
    ...(verdict.counts === undefined ? [] : [summary(verdict, verdict.counts)]),
    ...verdict.findings.filter(({ status }) => status === "not judged").map(notJudged),
    ...skipped.map((what) => `SKIPPED   ${what}`),
    ...verdict.findings.filter(({ status }) => status === "broken").flatMap(broken),
    ...verdict.floors
      .filter(({ wanted, seen }) => seen < wanted)
      .map(({ name, wanted, seen }) => `MISSED    ${name}: ${seen} of ${wanted}`),
    ...verdict.harness.map((flaw) => `HARNESS   ${flaw}`),
    `${LAST[verdict.result].padEnd(9)} ${replay}`,
  ].join("\n");
}

const LAST = { pass: "PASS", broken: "FAIL", void: "VOID", "harness error": "ERROR" } as const;

function numbers(counts: Counts, { leaseMs }: RunRecord): string[] {
  const { jobs, claims, renewals, effects, blind, ends, failover } = counts;
  const nemeses = Object.entries(counts.nemeses).map(
    ([name, { uses, aimed }]) => `${name} ${uses}${aimed > 0 ? ` (aimed ${aimed})` : ""}`,
  );
  const rounds = failover.rounds.async + failover.rounds.sync;
  return [
    `workers   ${counts.workers} (${counts.incarnations} incarnations${counts.hungAtStart > 0 ? `, ${counts.hungAtStart} hung before it began` : ""})  jobs ${jobs.enqueued} enqueued / ${jobs.done} done / ${jobs.failed} failed / ${jobs.cancelled} cancelled / ${jobs.open} open`,
    `nemesis   ${nemeses.join("  ")}`,
    `claims    ${claims.all}  re-claims ${claims.reclaims} (${spread(claims.afterMs)} ms after expiry)  renewals ${renewals.ok} ok / ${renewals.refused} refused / ${renewals.unknown} unknown`,
    `effects   applied ${effects.applied}  duplicate ${effects.duplicate}  stale ${effects.stale} refused     blind destination: ${blind.twice} applied twice, ${blind.outOfOrder} out of order`,
    `ends      ${ends.ok} ok  ${ends.lateRefused} late refused  ${ends.unknown} unknown -> ${ends.resolved} resolved`,
    `faults    ${counts.longFreezes} freezes of a run for more than ${leaseMs} ms  ${counts.killsInRuns} kills in a run  ${counts.unknown} unknown outcomes`,
    ...(rounds === 0
      ? []
      : [
          `failover  ${rounds} rounds  grants lost ${failover.grantsLost} (given again ${failover.givenAgain}, told apart by the floor ${failover.toldApart})  acknowledged ends lost ${failover.endsLost}  waits cancelled ${failover.waitsCancelled}`,
        ]),
  ];
}

function measured(
  { overlapsMs, stopsMs, frozenInTheGap, losses }: Measures,
  findings: readonly Finding[],
): string[] {
  const count = (invariant: Invariant): number =>
    findings.find((one) => one.invariant === invariant)?.count ?? 0;
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  const total = overlapsMs.reduce((sum, ms) => sum + ms, 0);
  return [
    `overlaps  ${overlapsMs.length}, total ${seconds(total)}, longest ${seconds(overlapsMs.at(-1) ?? 0)}, unexplained ${count("I17")}`,
    `stop      abort after loss ${spread(stopsMs)} ms   effects after own deadline ${count("I10")} (+${frozenInTheGap} frozen in the gap)`,
    ...(losses === 0 ? [] : [`losses    ${losses} acknowledged calls, as an asynchronous failover may`]),
  ];
}

function spread(values: readonly number[]): string {
  const at = (share: number): string =>
    values.length === 0
      ? "-"
      : Math.round(values[Math.min(values.length - 1, Math.floor(values.length * share))]!).toString();
  return `p50 ${at(0.5)} p99 ${at(0.99)} max ${at(1)}`;
}

function summary({ findings, floors, tookMs }: Verdict, { events, auditRows }: Counts): string {
  const count = (status: Finding["status"]): number => findings.filter((one) => one.status === status).length;
  const reached = floors.filter(({ wanted, seen }) => seen >= wanted).length;
  const names = Object.keys(INVARIANTS) as Invariant[];
  const held = `${names[0]}..${names.at(-1)}  ${count("holds")} hold, ${count("broken")} broken, ${count("not judged")} not judged`;
  return `invariants ${held}     floors ${reached}/${floors.length} reached     history ${events} events, audit ${auditRows} rows, checked in ${(tookMs / 1_000).toFixed(2)} s`;
}

function notJudged({ invariant, why }: Finding): string {
  return `not judged ${invariant} ${INVARIANTS[invariant]}: ${why}`;
}

function broken({ invariant, violations, count }: Finding): string[] {
  return [
    `BROKEN    ${invariant} ${INVARIANTS[invariant]}: ${count} times`,
    ...violations.flatMap(({ what, job, around }) => [
      `  ${what}${job === undefined ? "" : `  (job ${job})`}`,
      ...around.map((line) => `    ${line}`),
    ]),
  ];
}
