/**
 * The journal. The last run of a job is told by its row; whoever overwrites that run writes it down here first. So a
 * job that succeeds at once costs no line, and what is told is the same.
 */

import { type Generation, type JobId, type Line, leaseLine, type Owner } from "../../protocol/identity.ts";
import { JOURNAL_ENTRIES_PER_LINE, type JournalEntry } from "../../protocol/journal.ts";
import { type LeaseRun, type Note, toldByJob, toldByLease, wholeStory } from "../run-notes.ts";
import { entryFromRow, jobFromRow } from "./rows.ts";
import type { Sql } from "./statements.ts";

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

/** The whole story of a line by store time, oldest first. */
export async function readJournal(sql: Sql, line: Line): Promise<JournalEntry[]> {
  const stored = (await sql.rows("journal", [line])).map((row) => entryFromRow(row, line));
  return wholeStory(line, stored, await toldByRow(sql, line));
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function toldByRow(sql: Sql, line: Line): Promise<Note[]> {
  if (line.startsWith("job:")) {
    const jobId = line.slice("job:".length) as JobId;
    const [row] = UUID.test(jobId) ? await sql.rows("find job", [jobId]) : [];
    return row === undefined ? [] : toldByJob(jobFromRow(row));
  }
  const [row] = await sql.rows<LeaseRun>("find lease", [line.slice(leaseLine("").length)]);
  return row === undefined ? [] : toldByLease(row);
}
