/**
 * I13: per request, each `ok` has its row in the audit, written between invoke and ok; each `fail` has none; one whose
 * outcome is unknown has none or one.
 */

import type { Operation } from "../../../../src/protocol/invariants.ts";
import { CALL_LIMIT_MS } from "../settings.ts";
import { answerOf, type Call, fenceKey, jobGenerationOf, told } from "./calls.ts";
import { fencedDecisions } from "./effects.ts";
import { type Evidence, groupBy } from "./evidence.ts";
import { mayBeLost } from "./losses.ts";
import type { Change } from "./transitions.ts";
import type { Broken } from "./verdict.ts";

/** Wall clocks are told in whole ms and are slewed; the trigger reads the store's clock after the statement did. */
const SLACK_MS = 100;

/** Which rows a call may have made, by the operation that it asked for. */
const ROWS: Readonly<Record<string, readonly Operation[]>> = {
  enqueue: ["enqueue", "replace"],
  renew: ["renew", "rebase"],
  cancel: ["cancel"],
  revoke: ["revoke"],
  retry: ["retry"],
};

export function answersAgree(evidence: Evidence): Broken[] {
  return [
    ...judgeClaims(evidence),
    ...judgeSettles(evidence),
    ...["enqueue", "renew", "cancel", "revoke", "retry"].flatMap((op) => judgeCounted(evidence, op)),
    ...judgeWrites(evidence),
  ];
}

function all({ changes, lost }: Evidence): readonly Change[] {
  return lost.length === 0 ? changes : [...lost, ...changes];
}

function isBetween({ time }: Evidence, { invoke }: Call, replyMs: number, { storeMs }: Change): boolean {
  const { process } = invoke;
  const from = time.storeMs(invoke.atMs, process);
  const to = time.storeMs(replyMs, process);
  if (from === undefined || to === undefined || time.isStepped(invoke.atMs, replyMs, process)) return true;
  return storeMs >= from - SLACK_MS && storeMs <= to + SLACK_MS;
}

function at({ invoke }: Call): Pick<Broken, "job" | "atMs"> {
  return { atMs: invoke.atMs, ...(invoke.job === undefined ? {} : { job: invoke.job }) };
}

function judgeClaims(evidence: Evidence): Broken[] {
  const broken: Broken[] = [];
  const calls = evidence.callsByOp.get("claim") ?? [];
  if (calls.length === 0) return broken;
  const rows = new Map<string, Change>();
  for (const change of all(evidence)) {
    if (change.operation === "claim") rows.set(fenceKey({ ...change.after, job: change.job }), change);
  }
  const toldOf = new Set<string>();
  /** Owners with claims that nobody heard of: what they brought lapses (C4). */
  const unheard = new Set<string | undefined>();
  for (const call of calls) {
    const [reply] = call.replies;
    // One that found something and then came to its limit tells of that: what it gave up may have brought more.
    const isCutShort = reply !== undefined && reply.atMs - call.invoke.atMs >= CALL_LIMIT_MS;
    if (reply === undefined || isCutShort || call.replies.some(({ kind }) => kind === "info")) {
      unheard.add(call.invoke.owner);
    }
    for (const reply of call.replies) {
      if (reply.job === undefined || told(reply) !== "yes") continue;
      const key = fenceKey({
        job: reply.job,
        owner: reply.owner ?? call.invoke.owner ?? null,
        generation: jobGenerationOf(reply),
      });
      toldOf.add(key);
      const row = rows.get(key);
      const where = { job: reply.job, atMs: reply.atMs };
      if (row === undefined) {
        if (!mayBeLost(evidence, call, reply))
          broken.push({ what: `I13: a claim of ${key} was told that the store never made`, ...where });
      } else if (!isBetween(evidence, call, reply.atMs, row)) {
        broken.push({ what: `I13: the claim of ${key} was not made between question and answer`, ...where });
      }
    }
  }
  for (const [key, { job, seq, after }] of rows) {
    if (toldOf.has(key) || unheard.has(after?.owner ?? undefined) || unheard.has(undefined)) continue;
    broken.push({ what: `I13: nobody was told of the claim of ${key}`, job, seq });
  }
  return broken;
}

/** A fence settles once: there is one row or none, whatever was asked and how often. */
function judgeSettles(evidence: Evidence): Broken[] {
  const broken: Broken[] = [];
  const calls = evidence.callsByOp.get("settle") ?? [];
  if (calls.length === 0) return broken;
  const keyOf = (fence: Parameters<typeof fenceKey>[0], operation: string | undefined): string =>
    `${operation ?? "settle"} of ${fenceKey(fence)}`;
  const rows = new Map<string, Change>();
  for (const change of all(evidence)) {
    const { operation, fence } = change;
    if (fence !== undefined && operation !== "renew") rows.set(keyOf(fence, operation), change);
  }
  const groups = groupBy(calls, ({ invoke }) => keyOf(invoke, invoke.outcome));
  for (const [key, group] of groups) {
    const row = rows.get(key);
    const answers = group.map((call) => ({ call, ...answerOf(call) }));
    const yes = answers.filter(({ told }) => told === "yes");
    const says = (what: string): void => void broken.push({ what: `I13: ${what}`, ...at(group[0]!) });
    if (yes.length > 1) says(`the ${key} was told as applied ${yes.length} times`);
    const did = answers.find(({ told }) => told === "yes" || told === "already");
    if (row === undefined) {
      if (did?.reply !== undefined && !mayBeLost(evidence, did.call, did.reply))
        says(`the ${key} was told as done, and the store never did it`);
      continue;
    }
    if (did === undefined && !answers.some(({ told }) => told === "unknown"))
      says(`the ${key} was told as refused, and the store did it`);
    for (const { call, reply } of yes) {
      if (reply !== undefined && !isBetween(evidence, call, reply.atMs, row))
        says(`the ${key} was not done between question and answer`);
    }
  }
  for (const [key, { job, seq }] of rows) {
    if (!groups.has(key)) broken.push({ what: `I13: nobody asked for the ${key}`, job, seq });
  }
  return broken;
}

/** Operations that may be made more than once: at least as many rows as were told, at most as many as were not refused. */
function judgeCounted(evidence: Evidence, op: string): Broken[] {
  const broken: Broken[] = [];
  const operations = ROWS[op] ?? [];
  const byFence = op === "renew";
  const rows = groupBy(
    all(evidence).filter(({ operation }) => operations.includes(operation)),
    ({ job, before }) => (byFence ? fenceKey({ ...before, job }) : job),
  );
  const calls = (evidence.callsByOp.get(op) ?? []).filter(({ invoke }) => invoke.job !== undefined);
  const groups = groupBy(calls, ({ invoke }) => (byFence ? fenceKey(invoke) : String(invoke.job)));
  for (const [key, group] of groups) {
    const own = rows.get(key) ?? [];
    let possible = 0;
    let lost = 0;
    let told = 0;
    for (const call of group) {
      const answer = answerOf(call);
      if (answer.told === "no" || answer.told === "already") continue;
      possible += 1;
      if (answer.told === "unknown" || answer.reply === undefined) continue;
      told += 1;
      const { reply } = answer;
      if (own.some((row) => isBetween(evidence, call, reply.atMs, row))) continue;
      if (mayBeLost(evidence, call, reply)) lost += 1;
      else broken.push({ what: `I13: no ${op} of ${key} was made between question and answer`, ...at(call) });
    }
    // A claim re-bases too (T5), and an end of a dependency cancels: not every row was asked for by this name.
    const made = own.filter(({ operation, after }) => isAskedFor(operation, after?.endReason));
    const what =
      made.length > possible
        ? `${made.length} rows, and no more than ${possible} can have been made`
        : own.length + lost < told
          ? `${told} were told and ${own.length} made`
          : undefined;
    if (what !== undefined) broken.push({ what: `I13: ${op} of ${key}: ${what}`, ...at(group[0]!) });
  }
  return broken;
}

function isAskedFor(operation: Operation, endReason: string | null | undefined): boolean {
  return operation !== "rebase" && endReason !== "dependency" && endReason !== "replaced";
}

/** D5: what was refused may have been admitted earlier, so a refusal alone proves nothing. */
function judgeWrites(evidence: Evidence): Broken[] {
  const decided = new Set<string>();
  for (const { destination, key, generation, decision } of fencedDecisions(evidence))
    decided.add(`${destination} ${key} ${generation} ${decision === "stale" ? "refused" : "admitted"}`);
  const broken: Broken[] = [];
  for (const call of evidence.callsByOp.get("write") ?? []) {
    const { destination = "", key, generation } = call.invoke;
    const { told } = answerOf(call);
    if (destination === "blind" || key === undefined || told !== "yes") continue;
    if (!decided.has(`${destination} ${key} ${generation} admitted`))
      broken.push({ what: `I13: ${destination} was told to have ${key} and has not`, ...at(call) });
  }
  return broken;
}
