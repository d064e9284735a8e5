/**
 * The journal. The last run of a job is told by its row; whoever overwrites that run writes it down here first. So a
 * job that succeeds at once costs no line, and what is told is the same.
 */

import {
  type Generation,
  generation,
  type JobId,
  type Line,
  leaseLine,
  type Owner,
} from "../../protocol/identity.ts";
import { isEnded, type JobRecord } from "../../protocol/job.ts";
import { JOURNAL_ENTRIES_PER_LINE, type JournalEntry, type JournalKind } from "../../protocol/journal.ts";
import { entryFromRow, jobFromRow } from "./rows.ts";
import type { Sql } from "./statements.ts";

export interface Note {
  readonly kind: JournalKind;
  readonly atMs: number;
  readonly owner: Owner | null;
  readonly generation: Generation;
  readonly message?: string | null;
}

export async function note(sql: Sql, line: Line, notes: readonly Note[]): Promise<void> {
  if (notes.length === 0) return;
  const entries = notes.map(({ kind, atMs, owner, generation, message }, n) => ({
    n,
    line,
    kind,
    at: atMs,
    owner,
    generation,
    message: message ?? null,
  }));
  await sql.rows("note", [JSON.stringify(entries)]);
  // Counting at each note would cost more than the few lines that may stand too long.
  if (notes.some((entry) => entry.generation % 32 === 0)) {
    await sql.rows("trim journal", [line, JOURNAL_ENTRIES_PER_LINE]);
  }
}

export interface RefusalNote {
  readonly line: Line;
  readonly owner: Owner;
  readonly generation: Generation;
  readonly current: Generation;
  readonly operation: string;
}

/** What was refused is told to its owner whether or not it can be written down. */
export async function noteRefusals(sql: Sql, refusals: readonly RefusalNote[]): Promise<void> {
  if (refusals.length === 0) return;
  // A line that stands twice in one statement would be an error: the same refusal in one batch is one.
  const distinct = new Map(refusals.map((entry) => [JSON.stringify(entry), entry]));
  await sql.rows("note refusals", [JSON.stringify([...distinct.values()])]).catch(() => {});
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
export async function readJournal(sql: Sql, line: Line): Promise<JournalEntry[]> {
  const stored = (await sql.rows("journal", [line])).map((row) => entryFromRow(row, line));
  const told = line.startsWith("job:") ? await toldByJob(sql, line) : await toldByLease(sql, line);
  const entries = [...stored, ...told.map((entry) => asEntry(line, entry))];
  return entries
    .map((entry, index) => ({ entry, index }))
    .sort(
      (one, other) =>
        one.entry.atMs - other.entry.atMs || rank(one.entry) - rank(other.entry) || one.index - other.index,
    )
    .map(({ entry }) => entry);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function toldByJob(sql: Sql, line: Line): Promise<Note[]> {
  const jobId = line.slice("job:".length) as JobId;
  if (!UUID.test(jobId)) return [];
  const [row] = await sql.rows("find job", [jobId]);
  if (row === undefined) return [];
  const job = jobFromRow(row);
  return [
    { kind: "enqueued", atMs: job.createdAtMs, owner: null, generation: generation(0) },
    ...claimNote(job),
    ...endNotes(job),
  ];
}

async function toldByLease(sql: Sql, line: Line): Promise<Note[]> {
  const [row] = await sql.rows<{
    last_owner: Owner | null;
    generation: Generation;
    claimed_at: number;
    released_at: number | null;
  }>("find lease", [line.slice(leaseLine("").length)]);
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
