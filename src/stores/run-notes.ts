/**
 * What a row tells of its job's or lease's present or last run, as journal entries. A store that keeps that run in the
 * row writes these down only when the run is overwritten, and tells them from the row until then.
 */

import { type Generation, generation, type Line, type Owner } from "../protocol/identity.ts";
import { isEnded, type JobRecord } from "../protocol/job.ts";
import type { JournalEntry, JournalKind } from "../protocol/journal.ts";

export interface Note {
  readonly kind: JournalKind;
  readonly atMs: number;
  readonly owner: Owner | null;
  readonly generation: Generation;
  readonly message?: string | null;
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
  if (job.endReason === "dependency") return "failed";
  return undefined; // healed for the last time: that was noted as it happened
}

/** All that a job's row tells. */
export function toldByJob(job: JobRecord): Note[] {
  return [
    { kind: "enqueued", atMs: job.createdAtMs, owner: null, generation: generation(0) },
    ...claimNote(job),
    ...endNotes(job),
  ];
}

/** The columns of a named lease that tell of its last run. */
export interface LeaseRun {
  readonly last_owner: Owner | null;
  readonly generation: Generation;
  readonly claimed_at: number;
  readonly released_at: number | null;
}

/** All that a named lease's row tells. */
export function toldByLease(row: LeaseRun): Note[] {
  if (row.last_owner === null) return [];
  const run = { owner: row.last_owner, generation: row.generation };
  const claimed: Note = { kind: "claimed", atMs: row.claimed_at, ...run };
  return row.released_at === null
    ? [claimed]
    : [claimed, { kind: "released", atMs: row.released_at, ...run }];
}

/** The whole story of a line by store time, oldest first. */
export function wholeStory(
  line: Line,
  stored: readonly JournalEntry[],
  told: readonly Note[],
): JournalEntry[] {
  return [...stored, ...told.map((entry) => asEntry(line, entry))]
    .map((entry, index) => ({ entry, index }))
    .sort(
      (one, other) =>
        one.entry.atMs - other.entry.atMs || rank(one.entry) - rank(other.entry) || one.index - other.index,
    )
    .map(({ entry }) => entry);
}

function asEntry(line: Line, { kind, atMs, owner, generation, message }: Note): JournalEntry {
  return { line, kind, atMs, owner, generation, ...(message == null ? {} : { message }) };
}

/** Within one millisecond: a generation after the one before, and its claim before all else that it did. */
function rank(entry: JournalEntry): number {
  const step = entry.kind === "enqueued" || entry.kind === "claimed" ? 0 : 0.5;
  return (entry.kind === "refused" ? (entry.current ?? entry.generation) : entry.generation) + step;
}
