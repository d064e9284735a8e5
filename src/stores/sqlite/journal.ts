/**
 * The journal. The last run of a job is told by its row; whoever overwrites that run writes it down here first. So a
 * job that succeeds at once costs no line, and what is told is the same.
 */

import { type Generation, generation, type Line, leaseLine, type Owner } from "../../protocol/identity.ts";
import { isEnded, type JobRecord } from "../../protocol/job.ts";
import { JOURNAL_ENTRIES_PER_LINE, type JournalEntry, type JournalKind } from "../../protocol/journal.ts";
import { entryFromRow, jobFromRow } from "./rows.ts";
import type { Statements } from "./statements.ts";

export interface Note {
  readonly kind: JournalKind;
  readonly atMs: number;
  readonly owner: Owner | null;
  readonly generation: Generation;
  readonly message?: string | null;
}

export function note(statements: Statements, line: Line, notes: readonly Note[]): void {
  for (const { kind, atMs, owner, generation, message } of notes) {
    statements.run("note", { line, kind, at: atMs, owner, generation, message: message ?? null });
  }
  // Counting at each note would cost more than the few lines that may stand too long.
  if (notes.some((entry) => entry.generation % 32 === 0)) {
    statements.run("trim journal", { line, keep: JOURNAL_ENTRIES_PER_LINE });
  }
}

export function noteRefusal(
  statements: Statements,
  line: Line,
  refused: { readonly owner: Owner; readonly generation: Generation },
  operation: string,
  current: Generation,
  atMs: number,
): void {
  const { owner, generation } = refused;
  statements.run("note refusal", { line, at: atMs, owner, generation, current, operation });
}

/** The claim of the job's present run, for whoever is about to overwrite it. */
export function claimNote(job: JobRecord): Note[] {
  if (job.owner === null || job.claimedAtMs === null) return [];
  return [{ kind: "claimed", atMs: job.claimedAtMs, owner: job.owner, generation: job.generation }];
}

export function lapseNote(job: JobRecord): Note[] {
  if (job.owner === null || job.leaseUntilMs === null) return [];
  return [{ kind: "lapsed", atMs: job.leaseUntilMs, owner: job.owner, generation: job.generation }];
}

/** What the row of an ended job tells of its end, and of the run that ended it. */
export function endNotes(job: JobRecord): Note[] {
  if (!isEnded(job) || job.finishedAtMs === null) return [];
  const atMs = job.finishedAtMs;
  const settled = job.settled;
  const byItsRun =
    settled !== null &&
    (job.endReason === "completed" || job.endReason === "final" || job.endReason === "attempts_exhausted");
  if (!byItsRun) {
    const kind = endKind(job);
    return kind === undefined ? [] : [{ kind, atMs, owner: null, generation: job.generation }];
  }
  const run = { owner: settled.owner, generation: settled.generation };
  return [
    { kind: "claimed", atMs: job.claimedAtMs ?? atMs, ...run },
    { kind: job.state === "completed" ? "completed" : "failed", atMs, ...run },
  ];
}

function endKind(job: JobRecord): JournalKind | undefined {
  if (job.endReason === "lease_expired") return "expired";
  if (job.endReason === "replaced") return "replaced";
  if (job.endReason === "cancelled") return "cancelled";
  return undefined; // healed for the last time: that was noted as it happened
}

/** The whole story of a line by store time, oldest first. */
export function readJournal(statements: Statements, line: Line): JournalEntry[] {
  const stored = statements.all("journal", { line }).map((row) => entryFromRow(row, line));
  const told = line.startsWith("job:") ? toldByJob(statements, line) : toldByLease(statements, line);
  const entries = [...stored, ...told.map((entry) => asEntry(line, entry))];
  return entries
    .map((entry, index) => ({ entry, index }))
    .sort(
      (one, other) =>
        one.entry.atMs - other.entry.atMs || rank(one.entry) - rank(other.entry) || one.index - other.index,
    )
    .map(({ entry }) => entry);
}

function toldByJob(statements: Statements, line: Line): Note[] {
  const row = statements.get("find job", { job_id: line.slice("job:".length) });
  if (row === undefined) return [];
  const job = jobFromRow(row);
  return [
    { kind: "enqueued", atMs: job.createdAtMs, owner: null, generation: generation(0) },
    ...claimNote(job),
    ...endNotes(job),
  ];
}

function toldByLease(statements: Statements, line: Line): Note[] {
  const row = statements.get<{
    last_owner: Owner | null;
    generation: Generation;
    claimed_at: number;
    released_at: number | null;
  }>("find lease", { name: line.slice(leaseLine("").length) });
  if (row === undefined || row.last_owner === null) return [];
  const run = { owner: row.last_owner, generation: row.generation };
  const claimed: Note = { kind: "claimed", atMs: row.claimed_at, ...run };
  return row.released_at === null
    ? [claimed]
    : [claimed, { kind: "released", atMs: row.released_at, ...run }];
}

function asEntry(line: Line, { kind, atMs, owner, generation, message }: Note): JournalEntry {
  return { line, kind, atMs, owner, generation, ...(message == null ? {} : { message }) };
}

/** Within one millisecond: a generation after the one before, and its claim before all else that it did. */
function rank(entry: JournalEntry): number {
  const step = entry.kind === "enqueued" || entry.kind === "claimed" ? 0 : 0.5;
  return (entry.kind === "refused" ? (entry.current ?? entry.generation) : entry.generation) + step;
}
