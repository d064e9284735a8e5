/** A record, put in order once for all who judge it. */

import type { JobRecord } from "../../../../src/protocol/job.ts";
import type { HistoryEvent, RunRecord } from "../record.ts";
import { type Call, callsOf, fenceKey } from "./calls.ts";
import { type Fault, faultsOf, stepsOf } from "./faults.ts";
import { type Life, livesOf } from "./lives.ts";
import { type Run, runsOf } from "./runs.ts";
import { StoreTime } from "./store-time.ts";
import { type Change, changesOf } from "./transitions.ts";

export interface Evidence {
  readonly record: RunRecord;
  /** By time. */
  readonly history: readonly HistoryEvent[];
  /** In the store's order, without what was lost. */
  readonly changes: readonly Change[];
  /** Committed once, and not there any more after a failover. */
  readonly lost: readonly Change[];
  readonly changesByJob: ReadonlyMap<string, readonly Change[]>;
  /** As the last change left them, deleted ones left out. */
  readonly finals: ReadonlyMap<string, JobRecord>;
  readonly calls: readonly Call[];
  readonly callsByOp: ReadonlyMap<string, readonly Call[]>;
  readonly notes: ReadonlyMap<string, readonly HistoryEvent[]>;
  readonly faults: readonly Fault[];
  readonly lives: ReadonlyMap<string, Life>;
  readonly runs: readonly Run[];
  readonly time: StoreTime;
}

export function evidenceOf(record: RunRecord): Evidence {
  const history = [...record.history].sort((one, other) => one.atMs - other.atMs);
  const faults = faultsOf({ history, endedAtMs: record.endedAtMs });
  const stepsMs = stepsOf(faults, record.store);
  const changes = changesOf(record.audit, stepsMs);
  // What one failover has lost does not go on where another one's did: the same id may be enqueued after each of them.
  const lost = [...groupBy(record.lost ?? [], ({ timeline }) => timeline).values()].flatMap((entries) =>
    changesOf(entries, stepsMs),
  );
  const calls = callsOf(history);
  const lives = livesOf(history, faults);
  const finals = new Map<string, JobRecord>();
  for (const { job, after } of changes) {
    if (after === undefined) finals.delete(job);
    else finals.set(job, after);
  }
  const rows = rowTimes(changes);
  const rowMs = ({ op, invoke }: Call): number | undefined =>
    op === "settle" ? rows.get(`settle ${fenceKey(invoke)}`) : rows.get(`${op} ${invoke.job}`);
  return {
    record,
    history,
    changes,
    lost,
    changesByJob: groupBy(changes, ({ job }) => job),
    finals,
    calls,
    callsByOp: groupBy(calls, ({ op }) => op),
    notes: groupBy(
      history.filter(({ kind }) => kind === "note"),
      ({ op }) => op,
    ),
    faults,
    lives,
    runs: runsOf(history, lives),
    time: StoreTime.of(knownOf(record, history), calls, faults, rowMs),
  };
}

function knownOf(record: RunRecord, history: readonly HistoryEvent[]): Parameters<typeof StoreTime.of>[0] {
  const { store, endedAtMs: toMs } = record;
  const ahead = record.wallAheadMs ?? wallAheadMs(history);
  return { wallAheadMs: ahead, store, fromMs: history[0]?.atMs ?? 0, toMs };
}

/** From a note in which somebody has read both clocks. */
function wallAheadMs(history: readonly HistoryEvent[]): number | undefined {
  for (const { kind, atMs, detail } of history) {
    const wallMs = detail?.["wallMs"];
    if (kind === "note" && typeof wallMs === "number") return wallMs - atMs;
  }
  return undefined;
}

/** When the rows were written of which there is but one for each call: ends and enqueues. */
function rowTimes(changes: readonly Change[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { operation, fence, job, storeMs } of changes) {
    if (operation === "enqueue") times.set(`enqueue ${job}`, storeMs);
    else if (operation !== "renew" && fence !== undefined) times.set(`settle ${fenceKey(fence)}`, storeMs);
  }
  return times;
}

export function groupBy<K, V>(values: readonly V[], keyOf: (value: V) => K): Map<K, V[]> {
  const groups = new Map<K, V[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}
