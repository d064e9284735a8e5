/**
 * The journal. The last run of a job is told by its row; whoever overwrites that run writes it down here first. So a
 * job that succeeds at once costs no line, and what is told is the same.
 */

import { type Generation, type Line, leaseLine, type Owner } from "../../protocol/identity.ts";
import { JOURNAL_ENTRIES_PER_LINE, type JournalEntry } from "../../protocol/journal.ts";
import { type LeaseRun, type Note, toldByJob, toldByLease, wholeStory } from "../run-notes.ts";
import { entryFromRow, jobFromRow } from "./rows.ts";
import type { Statements } from "./statements.ts";

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

/** The whole story of a line by store time, oldest first. */
export function readJournal(statements: Statements, line: Line): JournalEntry[] {
  const stored = statements.all("journal", { line }).map((row) => entryFromRow(row, line));
  return wholeStory(line, stored, toldByRow(statements, line));
}

function toldByRow(statements: Statements, line: Line): Note[] {
  if (line.startsWith("job:")) {
    const row = statements.get("find job", { job_id: line.slice("job:".length) });
    return row === undefined ? [] : toldByJob(jobFromRow(row));
  }
  const row = statements.get<LeaseRun>("find lease", { name: line.slice(leaseLine("").length) });
  return row === undefined ? [] : toldByLease(row);
}
