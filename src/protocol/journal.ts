/**
 * The journal: what happened to the lease of a job or to a named lease, with the fences concerned. Bounded, for people:
 * `show` and the worked example print it. No decision of the protocol is ever taken from it.
 */

import type { Generation, Line, Owner } from "./identity.ts";

export type JournalKind =
  | "enqueued"
  | "claimed"
  | "lapsed"
  | "completed"
  | "failed" // the job ended as failed
  | "retrying" // an attempt failed, another follows
  | "released"
  | "cancel_requested"
  | "cancelled"
  | "revoked"
  | "retried" // an operator's retry
  | "expired" // C12
  | "healed"
  | "replaced"
  | "refused" // a renewal, settling or write with a fence that is not current
  | "log";

export interface JournalEntry {
  readonly line: Line;
  readonly kind: JournalKind;
  /** Store time, ms since 1970. */
  readonly atMs: number;
  /** Whose doing it was, or to whom it happened; null for an operator or the store itself. */
  readonly owner: Owner | null;
  readonly generation: Generation;
  /** `refused`: the generation that was current, and which operation was refused. */
  readonly current?: Generation;
  readonly operation?: string;
  /** `log` and errors: a text; `refused`: how often this was repeated is in `count`. */
  readonly message?: string;
  readonly count?: number;
}

/** How many entries of one line a store keeps at least; older ones may go. */
export const JOURNAL_ENTRIES_PER_LINE = 200;
