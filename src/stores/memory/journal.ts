/** The journal over a map: what `show` prints. Entries stand in the order in which things happened. */

import { type Generation, jobLine, type Line, leaseLine, type Owner } from "../../protocol/identity.ts";
import type { JobRecord } from "../../protocol/job.ts";
import { JOURNAL_ENTRIES_PER_LINE, type JournalEntry, type JournalKind } from "../../protocol/journal.ts";
import type { NamedLease } from "../../protocol/named-lease.ts";
import type { Moment } from "./state.ts";

type Note = Omit<JournalEntry, "line">;

function note({ state }: Moment, line: Line, entry: Note): void {
  const entries = state.journal.get(line) ?? [];
  state.journal.set(line, [...entries.slice(1 - JOURNAL_ENTRIES_PER_LINE), { line, ...entry }]);
}

/** What happened to a job now. `fence` tells whose doing it was, or to whom it happened; without one: an operator's. */
export function noteJob(
  at: Moment,
  job: JobRecord,
  kind: JournalKind,
  fence: { readonly owner: Owner | null; readonly generation: Generation } = {
    owner: null,
    generation: job.generation,
  },
  message?: string | null,
): void {
  const { owner, generation } = fence;
  const text = message === undefined || message === null ? {} : { message };
  note(at, jobLine(job.jobId), { kind, atMs: at.nowMs, owner, generation, ...text });
}

export function noteLease(at: Moment, lease: NamedLease, kind: JournalKind, owner: Owner | null): void {
  note(at, leaseLine(lease.name), { kind, atMs: at.nowMs, owner, generation: lease.generation });
}

/** A lapse is noted by whoever finds it, with the moment at which the lease ended. */
export function noteLapse(
  at: Moment,
  line: Line,
  lapsed: {
    readonly owner: Owner | null;
    readonly leaseUntilMs: number | null;
    readonly generation: Generation;
  },
): void {
  const { owner, generation, leaseUntilMs } = lapsed;
  note(at, line, { kind: "lapsed", atMs: leaseUntilMs ?? at.nowMs, owner, generation });
}

/** The same refusal again is counted, not repeated: what a stuck worker does over and over stays one entry. */
export function noteRefusal(
  at: Moment,
  line: Line,
  shown: { readonly owner: Owner; readonly generation: Generation },
  current: Generation,
  operation: string,
): void {
  const entries = at.state.journal.get(line) ?? [];
  const same = entries.findIndex(
    (entry) =>
      entry.kind === "refused" &&
      entry.operation === operation &&
      entry.owner === shown.owner &&
      entry.generation === shown.generation,
  );
  const known = entries[same];
  if (known === undefined) {
    const { owner, generation } = shown;
    note(at, line, { kind: "refused", atMs: at.nowMs, owner, generation, current, operation });
  } else {
    at.state.journal.set(line, entries.with(same, { ...known, current, count: (known.count ?? 1) + 1 }));
  }
}
