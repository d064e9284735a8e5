/** The audit as a sequence of transitions, each with its place in it. */

import type { Transition } from "../../../../src/protocol/invariants.ts";
import type { JobRecord } from "../../../../src/protocol/job.ts";
import type { AuditEntry } from "../record.ts";
import { transitionOf } from "./operations.ts";
import { jobOf } from "./rows.ts";

export interface Change extends Transition {
  readonly seq: number;
  readonly job: string;
  readonly storeMs: number;
}

interface Story {
  /** The job as the last change left it; undefined before its enqueue and after its deletion. */
  last?: JobRecord | undefined;
  /** It has left the live rows, and what became of it has not been told yet. */
  leaving?: { readonly before: JobRecord; readonly entry: AuditEntry } | undefined;
  /** Its end was told before its leaving. */
  endTold?: boolean;
}

/**
 * PostgreSQL tells an end in two entries (a row leaves, a row of history arrives, in either order), SQLite in one: both
 * become one change.
 *
 * @param stepsMs by how much clocks were set back meanwhile
 */
export function changesOf(audit: readonly AuditEntry[], stepsMs: readonly number[] = []): Change[] {
  const stories = new Map<string, Story>();
  const changes: Change[] = [];
  const push = (before: JobRecord | undefined, after: JobRecord | undefined, entry: AuditEntry): void => {
    const { seq, job, storeMs } = entry;
    changes.push({ ...transitionOf(before, after, entry, stepsMs), seq, job, storeMs });
  };
  const flush = (story: Story): void => {
    if (story.leaving === undefined) return;
    push(story.leaving.before, undefined, story.leaving.entry);
    story.leaving = undefined;
    story.last = undefined;
  };
  for (const entry of audit) {
    const story: Story = stories.get(entry.job) ?? {};
    stories.set(entry.job, story);
    const was = entry.was === null ? undefined : jobOf(entry.was);
    if (entry.ended !== null) {
      const after = jobOf(entry.ended);
      const before = was ?? story.leaving?.before ?? story.last;
      story.endTold = was === undefined && story.leaving === undefined;
      story.leaving = undefined;
      push(before, after, entry);
      story.last = after;
    } else if (entry.is === null) {
      if (story.endTold) story.endTold = false;
      else if (was !== undefined) story.leaving = { before: was, entry };
    } else {
      flush(story);
      const after = jobOf(entry.is);
      push(was ?? story.last, after, entry);
      story.last = after;
    }
  }
  for (const story of stories.values()) flush(story);
  return changes;
}
