/** What a batch says at its end. */

import { errorLine } from "../error-line.ts";
import type { Ended, Failure } from "./pending.ts";

export interface Summary {
  readonly batch: string;
  readonly lines: number;
  /** New to the store in this run. */
  readonly enqueued: number;
  /** Ended in an earlier run of the batch: not run again. */
  readonly alreadyDone: { readonly completed: number; readonly failed: number; readonly cancelled: number };
  /** Ended since this run began. */
  readonly ended: Readonly<Ended>;
  readonly notEnded: number;
  /** Lines whose unique key another job holds, with onConflict "throw". */
  readonly conflicts: number;
  /** Runs that were taken over because their owner's lease had lapsed. */
  readonly reclaimed: number;
  readonly seconds: number;
  readonly jobsPerSecond: number;
  readonly interruptedBy: string | null;
  /** The first of them. */
  readonly failures: readonly { readonly line: number; readonly jobId: string; readonly error: string }[];
}

export function failureOf({ line, jobId, job }: Failure): Summary["failures"][number] {
  const why = job.endReason === "lease_expired" ? "its worker ended or hung, and no attempt was left" : "";
  return { line, jobId, error: errorLine(job.error) || why };
}

export function hasFailed(summary: Summary): boolean {
  const { ended, alreadyDone, conflicts } = summary;
  return (
    ended.failed + ended.cancelled + ended.gone + alreadyDone.failed + alreadyDone.cancelled + conflicts > 0
  );
}

export function summaryText(summary: Summary): string {
  const { alreadyDone, ended } = summary;
  const before = alreadyDone.completed + alreadyDone.failed + alreadyDone.cancelled;
  const rows: [string, number, string][] = [
    ["enqueued", summary.enqueued, ""],
    [
      "already done",
      before,
      `in an earlier run${before > alreadyDone.completed ? `: ${beforeText(summary)}` : ""}`,
    ],
    ["completed", ended.completed, `${summary.jobsPerSecond} jobs/s`],
    ["failed", ended.failed, ""],
    ["cancelled", ended.cancelled, ""],
    ["deleted", ended.gone, "while the batch ran"],
    ["conflicts", summary.conflicts, "the unique key is another job's"],
    ["reclaimed", summary.reclaimed, "from an owner whose lease had lapsed"],
    ["not ended", summary.notEnded, "start the same command again to go on"],
  ];
  const lines = rows
    .filter(([name, count]) => count > 0 || name === "completed")
    .map(
      ([name, count, note]) =>
        `  ${name.padEnd(13)}${String(count).padStart(9)}${note === "" ? "" : `  ${note}`}`,
    );
  const failures = summary.failures.map(({ line, jobId, error }) => `  line ${line}: job ${jobId}: ${error}`);
  const more = ended.failed - failures.length;
  return [
    `${summary.batch}: ${summary.lines} lines, ${summary.seconds} s`,
    ...lines,
    ...failures,
    ...(more > 0 ? [`  and ${more} more; \`leasehold list --state failed\` shows them`] : []),
    ...(ended.failed + alreadyDone.failed > 0 ? ["  --retry-failed runs the failed ones again"] : []),
  ].join("\n");
}

function beforeText({ alreadyDone: { completed, failed, cancelled } }: Summary): string {
  return `${completed} completed, ${failed} failed, ${cancelled} cancelled`;
}
