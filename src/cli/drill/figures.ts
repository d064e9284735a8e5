/** What the rounds come to. It counts what was seen, and nothing of a round that broke off. */

import { FAULT_NAMES, type FaultName } from "./faults.ts";
import type { Round, SeenWrite } from "./round.ts";
import { isRefused } from "./store-faults.ts";

/** A write that has landed and should not have, in the words of the protocol: who, with which token, under which key. */
export interface LetThrough {
  readonly round: number;
  readonly fault: FaultName;
  readonly line: string;
  /** With which it was written, and the highest that the destination had been shown. */
  readonly generation: number;
  readonly current: number;
  readonly key: string;
}

export interface Trouble {
  readonly round: number;
  readonly fault: FaultName;
  readonly line: string;
  readonly what: string;
}

export interface Figures {
  readonly faults: readonly {
    readonly fault: FaultName;
    readonly planned: number;
    readonly played: number;
  }[];
  /** Jobs taken over after their owner's lease had ended; how long after, by store time. */
  readonly reclaims: { readonly count: number; readonly p50Ms: number | null; readonly p99Ms: number | null };
  readonly store: {
    readonly lateRenewals: Count;
    readonly lateCompletions: Count;
    readonly repeatedCompletions: { readonly sent: number; readonly already: number };
    readonly faults: readonly Trouble[];
  };
  readonly lateWrites: {
    readonly sent: number;
    /** By the fence: told so, and nothing changed. */
    readonly refused: number;
    /** Not refused, and nothing changed: as a repeat is answered. */
    readonly answered: number;
    readonly letThrough: readonly LetThrough[];
    /** Nothing changed, for another reason than the fence: it shows nothing. */
    readonly failed: readonly Trouble[];
    /** In the destination's words. */
    readonly refusal: string | null;
  };
  readonly repeats: {
    readonly sent: number;
    readonly answered: number;
    readonly madeAgain: readonly LetThrough[];
    readonly failed: readonly Trouble[];
  };
  /** `runs`: both owners were at it for a while, which no lease prevents. `leases`: a lease was given out before the last had ended. */
  readonly overlaps: { readonly runs: number; readonly leases: number };
  readonly brokenOff: readonly Trouble[];
}

interface Count {
  readonly sent: number;
  readonly refused: number;
}

export function figuresOf(
  rounds: readonly Round[],
  planned: readonly { readonly fault: FaultName }[],
): Figures {
  const played = rounds.filter(({ brokenOff }) => brokenOff === null);
  const late = played.flatMap(({ late: acts }) => acts ?? []);
  const waits = played.flatMap(({ reclaimedAfterMs }) => reclaimedAfterMs ?? []).sort((a, b) => a - b);
  const completions = played.flatMap(({ repeatedCompletion }) => repeatedCompletion ?? []);
  const writes = ofWrites(played, ({ late: acts }) => acts?.write ?? null);
  const repeats = ofWrites(played, ({ repeat }) => repeat);
  return {
    faults: FAULT_NAMES.map((fault) => ({
      fault,
      planned: planned.filter((round) => round.fault === fault).length,
      played: played.filter((round) => round.fault === fault).length,
    })).filter((line) => line.planned > 0),
    reclaims: { count: waits.length, p50Ms: percentile(waits, 50), p99Ms: percentile(waits, 99) },
    store: {
      lateRenewals: count(late.map(({ renewal }) => isRefused(renewal))),
      lateCompletions: count(late.map(({ completion }) => isRefused(completion))),
      repeatedCompletions: {
        sent: completions.length,
        already: completions.filter((outcome) => outcome === "already").length,
      },
      faults: played.flatMap((round) => round.storeFaults.map((what) => troubleOf(round, what))),
    },
    lateWrites: {
      sent: writes.sent,
      refused: writes.refused.length,
      answered: writes.answered,
      letThrough: writes.landed.map(landedOf),
      failed: writes.failed,
      refusal: writes.refused[0] ?? null,
    },
    repeats: {
      sent: repeats.sent,
      answered: repeats.answered,
      madeAgain: repeats.landed.map(landedOf),
      // Whoever repeats is the current owner: to be refused is no answer either.
      failed: [...repeats.failed, ...repeats.refusedRounds],
    },
    overlaps: {
      runs: played.filter(({ hasOverlap }) => hasOverlap).length,
      leases: waits.filter((ms) => ms < 0).length,
    },
    brokenOff: rounds.flatMap((round) => (round.brokenOff === null ? [] : troubleOf(round, round.brokenOff))),
  };
}

function ofWrites(rounds: readonly Round[], writeOf: (round: Round) => SeenWrite | null) {
  const seen = rounds.flatMap((round) => {
    const write = writeOf(round);
    return write === null ? [] : [{ round, ...write }];
  });
  // What has landed has landed, whatever was said about it.
  const kept = seen.filter(({ hasLanded }) => !hasLanded);
  const said = (outcome: "refused" | "failed") =>
    kept.flatMap(({ round, answer }) =>
      answer.outcome === outcome ? [{ round, message: answer.message }] : [],
    );
  return {
    sent: seen.length,
    landed: seen.filter(({ hasLanded }) => hasLanded).map(({ round }) => round),
    answered: kept.filter(({ answer }) => answer.outcome === "answered").length,
    refused: said("refused").map(({ message }) => message),
    refusedRounds: said("refused").map(({ round, message }) => troubleOf(round, message)),
    failed: said("failed").map(({ round, message }) => troubleOf(round, message)),
  };
}

function landedOf({ number, fault, job, generations, late }: Round): LetThrough {
  const [first = 0, second = first] = generations;
  return {
    round: number,
    fault,
    line: job.line,
    generation: late === null ? second : first,
    current: second,
    key: job.effectScope,
  };
}

function troubleOf({ number, fault, job }: Round, what: string): Trouble {
  return { round: number, fault, line: job.line, what };
}

function count(refused: readonly boolean[]): Count {
  return { sent: refused.length, refused: refused.filter(Boolean).length };
}

/** By the nearest rank, so that it is a value that was seen. */
function percentile(sorted: readonly number[], percent: number): number | null {
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? null;
}
