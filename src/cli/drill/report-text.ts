/** A drill's report, for people. */

import { FAULTS } from "./faults.ts";
import type { Figures, LetThrough, Trouble } from "./figures.ts";
import type { Report } from "./report.ts";

/** How many of a kind are named; `--json` has all. */
const NAMED = 10;

export function reportText(report: Report): string {
  const { figures, destination, verdict } = report;
  return [
    `${report.rounds} rounds in ${report.seconds} s on ${report.store}; seed ${report.seed}`,
    `destination ${destination.name}: declares "${destination.level}", ${probeText(report)}`,
    "",
    ...figures.faults.map(
      ({ fault, planned, played }) => `  ${fault.padEnd(21)}${played} of ${planned}  ${FAULTS[fault]}`,
    ),
    "",
    ...storeLines(figures),
    "",
    ...destinationLines(figures),
    "",
    ...named("not played to the end", figures.brokenOff, troubleLine),
    `store: ${verdict.store}`,
    `destination: ${verdict.destination}`,
    ...(verdict.drill === null ? [] : [`drill: ${verdict.drill}`]),
    ...report.stays.map((what) => `stays: ${what}`),
  ].join("\n");
}

function probeText({ destination: { probe } }: Report): string {
  return probe.isProven ? "and refused a stale token when it was probed" : `not proven: ${probe.why}`;
}

function storeLines({ store, reclaims, overlaps }: Figures): string[] {
  const { lateRenewals, lateCompletions, repeatedCompletions } = store;
  const after = reclaims.count === 0 ? "" : `, p50 ${reclaims.p50Ms} ms, p99 ${reclaims.p99Ms} ms after`;
  return [
    "in the store",
    row("taken over", `${reclaims.count} after the lease had ended${after}`),
    row("late renewals", `${lateRenewals.sent} sent, ${lateRenewals.refused} refused`),
    row("late completions", `${lateCompletions.sent} sent, ${lateCompletions.refused} refused`),
    row(
      "sent again",
      `${repeatedCompletions.sent} completions, ${repeatedCompletions.already} answered "already"`,
    ),
    row("overlaps", `${overlaps.leases} of leases; ${overlaps.runs} of runs, which no lease prevents`),
    ...named("BROKEN", store.faults, troubleLine),
  ];
}

function destinationLines({ lateWrites, repeats }: Figures): string[] {
  const { sent, refused, answered, letThrough, failed, refusal } = lateWrites;
  const asRepeats = answered > 0 ? `, ${answered} answered as repeats` : "";
  return [
    "in the destination",
    row("late writes", `${sent} sent, ${refused} refused${asRepeats}, ${letThrough.length} let through`),
    ...(refusal === null ? [] : [`  the first refusal: ${refusal}`]),
    ...named("LET THROUGH", letThrough, lateLine),
    ...named("failed", failed, troubleLine),
    row(
      "repeated effects",
      `${repeats.sent} sent, ${repeats.answered} answered from the first record, ${repeats.madeAgain.length} made again`,
    ),
    ...named("made again", repeats.madeAgain, againLine),
    ...named("failed", repeats.failed, troubleLine),
  ];
}

function named<T>(title: string, items: readonly T[], line: (item: T) => string): string[] {
  const lines = items.slice(0, NAMED).map((item) => `  ${title}: ${line(item)}`);
  const more = items.length - lines.length;
  return more > 0 ? [...lines, `  ${title}: ${more} more; --json has them all`] : lines;
}

function row(title: string, text: string): string {
  return `  ${title.padEnd(21)}${text}`;
}

function lateLine({ round, fault, line, generation, current, key }: LetThrough): string {
  return `round ${round}, ${fault}: ${line}, generation ${generation} after ${current}, key ${key}`;
}

function againLine({ round, fault, line, generation, key }: LetThrough): string {
  return `round ${round}, ${fault}: ${line}, by generation ${generation}, key ${key}`;
}

function troubleLine({ round, fault, line, what }: Trouble): string {
  return `round ${round}, ${fault}: ${line}: ${what}`;
}
