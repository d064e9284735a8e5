/** C6 to C8, and the other writes of a run. Completions are one statement for all; the rest goes through the core. */

import { type JobId, jobLine } from "../../protocol/identity.ts";
import { isEnded } from "../../protocol/job.ts";
import { releasedLease } from "../../protocol/named-lease.ts";
import type { Refusal } from "../../protocol/outcome.ts";
import { type SettledAnswer, type Settlement, settle as settleInCore } from "../../protocol/settle.ts";
import { claimNote } from "../run-notes.ts";
import type { RunWrite, RunWriteAnswer } from "../store.ts";
import { operationOf } from "../write-names.ts";
import { BatchEnds, type Departed, depart } from "./departures.ts";
import { EndCounts } from "./end-counts.ts";
import { currentOf } from "./fences.ts";
import { note } from "./journal.ts";
import { type Moment, readMoment } from "./moment.ts";
import { PHASE } from "./rows.ts";
import { completePlain } from "./settle-plain.ts";
import type { Statements } from "./statements.ts";
import { writeStep } from "./steps.ts";
import {
  findJob,
  findLease,
  letNextHave,
  refuse,
  saveFreedLease,
  saveJob,
  underFence,
} from "./transition.ts";

type Completion = Extract<Settlement, { readonly operation: "complete" }>;

const COMPLETED: SettledAnswer = { outcome: "applied", state: "completed", endReason: "completed" };

export interface SettledBatch {
  readonly answers: readonly (SettledAnswer | Refusal)[];
  /** Whether some job became due by it: given back, or no longer in want of a resource. */
  readonly madeDue: boolean;
}

export function settle(statements: Statements, settlements: readonly Settlement[]): SettledBatch {
  const moment = readMoment(statements);
  if (completePlain(statements, settlements, moment))
    return { answers: settlements.map(() => COMPLETED), madeDue: false };
  const answers: (SettledAnswer | Refusal)[] = new Array(settlements.length);
  let madeDue = settlements.some(({ operation }) => operation !== "complete");
  // Each fence that stands twice is asked one after the other, so that the second answers `already`.
  const rounds = inRounds(settlements);
  for (const round of rounds) {
    const completions = round.filter((index) => settlements[index]?.operation === "complete");
    const applied = complete(
      statements,
      completions.map((index) => settlements[index] as Completion),
      moment,
    );
    madeDue ||= [...applied.values()].some(({ concernsOthers }) => concernsOthers);
    for (const index of round) {
      const settlement = settlements[index] as Settlement;
      answers[index] =
        settlement.operation !== "complete"
          ? settleOne(statements, settlement, moment)
          : applied.has(settlement.fence.jobId)
            ? COMPLETED
            : refuse(
                statements,
                findJob(statements, settlement.fence.jobId),
                settlement.fence,
                "complete",
                moment,
                "complete",
              );
    }
  }
  return { answers, madeDue };
}

/** Indices such that no job stands twice in a round. Nearly always there is one round. */
function inRounds(settlements: readonly Settlement[]): number[][] {
  const rounds: number[][] = [];
  const seen = new Map<JobId, number>();
  settlements.forEach(({ fence }, index) => {
    const round = seen.get(fence.jobId) ?? 0;
    seen.set(fence.jobId, round + 1);
    rounds[round] ??= [];
    rounds[round].push(index);
  });
  return rounds;
}

/** Whether a completion gave up a resource, or was waited for. */
interface Completed {
  readonly concernsOthers: boolean;
}

/** Completes those whose fence is current, and returns them. */
export function complete(
  statements: Statements,
  completions: readonly Completion[],
  moment: Moment,
): Map<JobId, Completed> {
  const completed = new Map<JobId, Completed>();
  if (completions.length === 0) return completed;
  const fences = completions.map(({ fence }) => fence);
  const current = currentOf(statements, fences, moment);
  if (current.size === 0) return completed;
  statements.run("complete", {
    seqs: JSON.stringify([...current.values()].map(({ seq }) => seq)),
    now: moment.nowMs,
  });
  const counts = new EndCounts();
  const results: [number, string][] = [];
  const departed: Departed[] = [];
  const batches = new BatchEnds();
  for (const [index, { seq, queue, resource, tail }] of current) {
    const { fence, result } = completions[index] as Completion;
    completed.set(fence.jobId, { concernsOthers: resource !== null || tail !== null });
    counts.add(queue, PHASE.completed);
    if (result !== null) results.push([seq, result]);
    if (resource !== null) giveUpResource(statements, resource, fence.jobId, moment.nowMs);
    if (tail === null) continue;
    batches.add(tail, "completed", 1);
    departed.push({ seq, how: "completed" });
  }
  if (results.length > 0) statements.run("store results", { results: JSON.stringify(results) });
  counts.write(statements);
  depart(statements, departed, moment.nowMs, batches);
  return completed;
}

function giveUpResource(statements: Statements, resource: string, jobId: JobId, nowMs: number): void {
  const lease = findLease(statements, resource);
  if (lease?.heldFor === jobId) saveFreedLease(statements, releasedLease(lease), nowMs);
  letNextHave(statements, resource);
}

function settleOne(statements: Statements, settlement: Settlement, moment: Moment): SettledAnswer | Refusal {
  const { fence, operation } = settlement;
  const current = underFence(statements, fence, operation, moment, operation);
  if ("outcome" in current) return current;
  const { job, lease } = current;
  const settled = settleInCore(job, lease, settlement, moment.nowMs);
  if (!isEnded(settled.job) || settled.job.state === "cancelled") {
    note(statements, jobLine(job.jobId), [
      ...claimNote(job),
      ...(isEnded(settled.job)
        ? []
        : [
            {
              kind: operation === "release" ? ("released" as const) : ("retrying" as const),
              atMs: moment.nowMs,
              owner: fence.owner,
              generation: fence.generation,
              message: settlement.operation === "fail" ? settlement.error : null,
            },
          ]),
    ]);
  }
  if (settled.lease !== undefined) saveFreedLease(statements, settled.lease, moment.nowMs);
  saveJob(statements, job, settled.job);
  return settled.answer;
}

export function write(statements: Statements, writes: readonly RunWrite[]): RunWriteAnswer[] {
  const moment = readMoment(statements);
  return writes.map((entry) => {
    const { fence } = entry;
    const current = underFence(statements, fence, operationOf(entry), moment);
    if ("outcome" in current) return current;
    if ("step" in entry) return writeStep(statements, current.job, entry, moment.nowMs);
    if ("progress" in entry) {
      statements.run("write progress", { seq: current.job.seq, progress: entry.progress });
    } else {
      const { owner, generation } = fence;
      const line = { kind: "log" as const, atMs: moment.nowMs, owner, generation, message: entry.log };
      note(statements, jobLine(fence.jobId), [line]);
    }
    return { outcome: "applied" };
  });
}
