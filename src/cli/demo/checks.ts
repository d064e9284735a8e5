/** What must have been seen for the story to have gone as the protocol says. */

import type { ProbeResult } from "../../destinations/destination.ts";
import type { JobRecord } from "../../protocol/job.ts";
import type { JournalEntry } from "../../protocol/journal.ts";
import type { Entry } from "../accounts/account.ts";
import { CENTS, type Report } from "./report.ts";

export interface Check {
  readonly what: string;
  readonly ok: boolean;
  /** What was seen instead. */
  readonly seen: string;
}

export interface Seen {
  /** The generations that are A's and B's in the story. */
  readonly ofA: number;
  readonly ofB: number;
  readonly claims: { readonly a: number; readonly b: number };
  readonly probe: ProbeResult;
  /** A's steps after it woke, and the receipt that it got before it was frozen. */
  readonly a: {
    readonly renewal: Report;
    readonly completion: Report;
    readonly write: Report;
    readonly repeated: Report;
    readonly receipt: string | undefined;
  };
  readonly bCompletion: Report;
  readonly job: JobRecord;
  readonly journal: readonly JournalEntry[];
  /** What has landed in the account. */
  readonly entries: readonly Entry[];
  readonly payments: number;
}

export function checksOf(seen: Seen): Check[] {
  const { ofA, ofB, claims, probe, a, bCompletion, job, journal, entries, payments } = seen;
  const isRefused = (report: Report, outcome: string): boolean =>
    report.outcome === outcome && report.generation === ofA && report.current === ofB;
  const bothGenerations = `generation ${ofA} refused, the destination has seen ${ofB}`;
  const journalHas = (operation: string): boolean =>
    journal.some(
      (entry) =>
        entry.kind === "refused" &&
        entry.operation === operation &&
        entry.generation === ofA &&
        entry.current === ofB,
    );
  const [entry] = entries;
  return [
    check(`A holds generation ${ofA}`, claims.a === ofA, claims.a),
    check(`B holds generation ${ofB}`, claims.b === ofB, claims.b),
    check("the destination refused a stale write when it was tried", probe.isProven, probe),
    check("A's renewal was refused as stale", isRefused(a.renewal, "stale"), a.renewal),
    check("A's completion was refused as stale", isRefused(a.completion, "stale"), a.completion),
    check(
      `A's write was refused, because ${ofA} < ${ofB}, and the message says so`,
      isRefused(a.write, "refused") && a.write.message?.includes(bothGenerations) === true,
      a.write,
    ),
    check(
      "A's repeated payment was answered from the first one's record",
      a.repeated.outcome === "replayed" && a.repeated.receipt === a.receipt,
      a.repeated,
    ),
    check(
      "B completed the job, which ended once",
      bCompletion.outcome === "applied" && job.state === "completed" && job.result === JSON.stringify("B"),
      job.state,
    ),
    check(
      "each effect happened once: one write to the account, one payment",
      entries.length === 1 && entry?.cents === CENTS && entry.generation === ofB && payments === 1,
      { entries, payments },
    ),
    check(
      "the journal has both refusals with both generations, and one end",
      journalHas("renew") &&
        journalHas("complete") &&
        journal.filter(({ kind }) => kind === "completed").length === 1,
      journal.map(({ kind }) => kind).join(" "),
    ),
  ];
}

function check(what: string, ok: boolean, seen: unknown): Check {
  return { what, ok, seen: typeof seen === "string" ? seen : JSON.stringify(seen) };
}
