import { type JobId, jobLine, type Line } from "../protocol/identity.ts";

/** What one call of `prune` has removed; call it again until `isDone`. */
export interface Pruned {
  readonly marks: number;
  readonly answers: number;
  readonly isDone: boolean;
}

/** How many marks, and how many answers, one call removes at most. */
export const DEFAULT_PRUNE_LIMIT = 1_000;

/** D7: whether a line without a mark may have had one that was pruned. Lines of named leases are never pruned. */
export function isPruned(line: Line, prunedBelow: string): boolean {
  return line.startsWith("job:") && line < jobLine(prunedBelow as JobId);
}
