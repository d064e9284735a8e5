/** C6 to C8, and the other writes of a run. Completions have statements of their own; the rest goes through the core. */

import { type JobId, jobLine } from "../../protocol/identity.ts";
import { isEnded } from "../../protocol/job.ts";
import { type Busy, isCurrent, type Refusal } from "../../protocol/outcome.ts";
import { type SettledAnswer, type Settlement, settle as settleInCore } from "../../protocol/settle.ts";
import type { StepWrite } from "../../protocol/step.ts";
import { claimNote } from "../run-notes.ts";
import type { RunWrite, RunWriteAnswer } from "../store.ts";
import { operationOf } from "../write-names.ts";
import { type Completion, completeAll } from "./complete.ts";
import type { Call, Connections } from "./connections.ts";
import { isBadValue } from "./failure.ts";
import { note } from "./journal.ts";
import { type Moment, readMoment } from "./moment.ts";
import { explain, type Refused } from "./refusals.ts";
import type { Sql } from "./statements.ts";
import { writeSteps } from "./steps.ts";
import { lockLease, lockUnlocked, saveFreedLease, saveJob } from "./transition.ts";

type Other = Exclude<Settlement, Completion>;

const COMPLETED: SettledAnswer = { outcome: "applied", state: "completed", endReason: "completed" };

export interface SettledBatch {
  readonly answers: readonly (SettledAnswer | Refusal | Busy)[];
  /** Whether some job became due by it: given back, or no longer in want of a resource. */
  readonly madeDue: boolean;
  /** Whether somebody may have waited for one that has ended. */
  readonly wasAwaited: boolean;
}

export async function settle(
  connections: Connections,
  call: Call,
  settlements: readonly Settlement[],
): Promise<SettledBatch> {
  const answers: (SettledAnswer | Refusal | Busy)[] = new Array(settlements.length);
  let madeDue = false;
  let wasAwaited = false;
  // Each fence that stands twice is asked one after the other, so that the second answers `already`.
  for (const round of inRounds(settlements)) {
    const applied = await writeRound(connections, call, round, settlements);
    madeDue ||= applied.madeDue;
    wasAwaited ||= applied.wasAwaited;
    const refused = round.filter((index) => !applied.answers.has(index));
    const explained = await explain(
      connections.on(call),
      refused.map((index) => refusedSettlement(settlements[index] as Settlement)),
      call.operation,
    );
    if (explained.some(({ outcome }) => outcome === "already")) await connections.waitForStandby(call);
    for (const [index, answer] of applied.answers) answers[index] = answer;
    refused.forEach((index, n) => {
      answers[index] = explained[n] as Refusal | Busy;
    });
  }
  return { answers, madeDue, wasAwaited };
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

interface Applied {
  readonly answers: ReadonlyMap<number, SettledAnswer>;
  readonly madeDue: boolean;
  readonly wasAwaited: boolean;
}

/** Where a value cannot be stored, each member is tried alone: only the one that carries it fails the call. */
async function writeRound(
  connections: Connections,
  call: Call,
  round: readonly number[],
  settlements: readonly Settlement[],
): Promise<Applied> {
  const isCompletion = (index: number): boolean => settlements[index]?.operation === "complete";
  const completions = round.filter(isCompletion);
  const others = round.filter((index) => !isCompletion(index));
  const answers = new Map<number, SettledAnswer>();
  let madeDue = false;
  let wasAwaited = false;
  if (completions.length > 0) {
    const completed = await eachIfBad(completions, (indices) =>
      completeAll(
        connections,
        call,
        indices.map((index) => settlements[index] as Completion),
      ),
    );
    for (const index of completions) {
      const one = completed.get((settlements[index] as Settlement).fence.jobId);
      if (one === undefined) continue;
      answers.set(index, COMPLETED);
      madeDue ||= one.gaveUp || one.isAwaited;
      wasAwaited ||= one.isAwaited;
    }
  }
  if (others.length > 0) {
    const settled = await eachIfBad(others, (indices) =>
      connections.transaction(call, (sql) =>
        settleOthers(sql, indices, (index) => settlements[index] as Other),
      ),
    );
    for (const [index, answer] of settled) answers.set(index, answer);
    wasAwaited ||= [...settled.values()].some(({ state }) => state !== "ready");
    madeDue ||= settled.size > 0;
  }
  return { answers, madeDue, wasAwaited };
}

async function eachIfBad<K, V>(
  indices: readonly number[],
  write: (indices: readonly number[]) => Promise<ReadonlyMap<K, V>>,
): Promise<ReadonlyMap<K, V>> {
  try {
    return await write(indices);
  } catch (error) {
    if (!isBadValue(error) || indices.length === 1) throw error;
  }
  const all = new Map<K, V>();
  let bad: unknown;
  for (const index of indices) {
    try {
      for (const [key, value] of await write([index])) all.set(key, value);
    } catch (error) {
      if (!isBadValue(error)) throw error;
      bad = error;
    }
  }
  if (bad !== undefined) throw bad;
  return all;
}

function refusedSettlement({ fence, operation }: Settlement): Refused {
  return { fence, operation, settling: operation };
}

/** Failures and releases: the rows are locked, the core decides on each, and its answer is written. */
async function settleOthers(
  sql: Sql,
  indices: readonly number[],
  settlementOf: (index: number) => Other,
): Promise<ReadonlyMap<number, SettledAnswer>> {
  const jobs = await lockUnlocked(
    sql,
    indices.map((index) => settlementOf(index).fence.jobId),
  );
  const answers = new Map<number, SettledAnswer>();
  if (jobs.size === 0) return answers;
  const moment = await readMoment(sql);
  for (const index of indices) {
    const settlement = settlementOf(index);
    const job = jobs.get(settlement.fence.jobId);
    const answer = job === undefined ? undefined : await settleOne(sql, job, settlement, moment);
    if (answer !== undefined) answers.set(index, answer);
  }
  return answers;
}

async function settleOne(
  sql: Sql,
  job: Parameters<typeof settleInCore>[0],
  settlement: Other,
  moment: Moment,
): Promise<SettledAnswer | undefined> {
  const { fence, operation } = settlement;
  const lease = await lockLease(sql, job.resource);
  if (!isCurrent(job, fence, moment.epochStart, lease)) return undefined;
  const settled = settleInCore(job, lease, settlement, moment.nowMs);
  if (!isEnded(settled.job) || settled.job.state === "cancelled") {
    const { owner, generation } = fence;
    const message = settlement.operation === "fail" ? settlement.error : null;
    const kind = operation === "release" ? ("released" as const) : ("retrying" as const);
    await note(sql, jobLine(job.jobId), [
      ...claimNote(job),
      ...(isEnded(settled.job) ? [] : [{ kind, atMs: moment.nowMs, owner, generation, message }]),
    ]);
  }
  if (settled.lease !== undefined) await saveFreedLease(sql, settled.lease, moment.nowMs);
  await saveJob(sql, job, settled.job);
  return settled.answer;
}

/** Progress, logs and steps, under the same condition. */
export async function write(
  connections: Connections,
  call: Call,
  writes: readonly RunWrite[],
): Promise<RunWriteAnswer[]> {
  const steps = await writeSteps(connections.on(call), writes.filter(isStep), call.operation);
  const notes = await writeNotes(
    connections,
    call,
    writes.filter((entry): entry is Note => !isStep(entry)),
  );
  return writes.map((entry) => (isStep(entry) ? steps.get(entry) : notes.get(entry)) as RunWriteAnswer);
}

type Note = Exclude<RunWrite, StepWrite>;

function isStep(entry: RunWrite): entry is StepWrite {
  return "step" in entry;
}

async function writeNotes(
  connections: Connections,
  call: Call,
  writes: readonly Note[],
): Promise<ReadonlyMap<Note, RunWriteAnswer>> {
  if (writes.length === 0) return new Map();
  const written = await connections.transaction(call, (sql) => writeAll(sql, writes));
  const refused = writes.filter((_, index) => !written.has(index));
  const explained = await explain(
    connections.on(call),
    refused.map((entry) => ({ fence: entry.fence, operation: operationOf(entry) })),
    call.operation,
  );
  const answers = new Map<Note, RunWriteAnswer>(writes.map((entry) => [entry, { outcome: "applied" }]));
  for (const [index, entry] of refused.entries()) answers.set(entry, explained[index] as Refusal | Busy);
  return answers;
}

async function writeAll(sql: Sql, writes: readonly Note[]): Promise<ReadonlySet<number>> {
  const jobs = await lockUnlocked(
    sql,
    writes.map(({ fence }) => fence.jobId),
  );
  const written = new Set<number>();
  const moment = await readMoment(sql);
  for (const [index, entry] of writes.entries()) {
    const { fence } = entry;
    const job = jobs.get(fence.jobId);
    const lease = await lockLease(sql, job?.resource ?? null);
    if (job === undefined || !isCurrent(job, fence, moment.epochStart, lease)) continue;
    if ("progress" in entry) {
      await sql.rows("write progress", [fence.jobId, entry.progress]);
    } else {
      const { owner, generation } = fence;
      const line = { kind: "log" as const, atMs: moment.nowMs, owner, generation, message: entry.log };
      await note(sql, jobLine(fence.jobId), [line]);
    }
    written.add(index);
  }
  return written;
}
