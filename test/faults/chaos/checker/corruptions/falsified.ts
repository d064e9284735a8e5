/** A sound record, falsified in one way: what no sound store, worker or destination would have left behind. */

import type { AuditEntry, DestinationEntry, HistoryEvent, RunRecord } from "../../record.ts";
import type { Invariant } from "../verdict.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Row = Record<string, unknown>;

/** A copy that may be written to. */
export interface Falsified extends Omit<Mutable<RunRecord>, "history" | "audit" | "decisions"> {
  history: Mutable<HistoryEvent>[];
  audit: (Omit<Mutable<AuditEntry>, "was" | "is" | "ended"> & {
    was: Row | null;
    is: Row | null;
    ended: Row | null;
  })[];
  decisions: Mutable<DestinationEntry>[];
}

export interface Corruption {
  readonly breaks: Invariant;
  readonly what: string;
  readonly falsify: (record: Falsified) => void;
}

/** Of one job that was frozen in the gap and taken over: its audit, in order. */
export function takenOver({ audit, decisions }: Falsified): Falsified["audit"] {
  const job = decisions.find(({ decision }) => decision === "stale")?.job;
  return audit.filter((entry) => entry.job === job);
}

export function claims(
  entries: Falsified["audit"],
): { was: Row; is: Row; entry: Falsified["audit"][number] }[] {
  return entries.flatMap((entry) => {
    const { was, is } = entry;
    return was !== null && is !== null && is["attempt"] !== was["attempt"] ? [{ was, is, entry }] : [];
  });
}

export function event(
  record: Falsified,
  op: string,
  kind: string,
  isWanted = (_: HistoryEvent): boolean => true,
): Mutable<HistoryEvent> {
  const found = record.history.find((one) => one.op === op && one.kind === kind && isWanted(one));
  if (found === undefined) throw new Error(`There is no ${kind} of ${op}`);
  return found;
}

/** The last one that was told of its loss after a pause: nothing befalls its process for a while afterwards. */
export function lastTold({ history }: Falsified): HistoryEvent {
  return history.findLast(
    ({ op, detail }) => op === "aborted" && detail?.["reason"] === "lease_superseded",
  ) as HistoryEvent;
}

export function renewal(entries: Falsified["audit"]): {
  was: Row;
  is: Row;
  entry: Falsified["audit"][number];
} {
  const found = entries.find(
    ({ was, is }) => was?.["owner"] != null && is?.["lease_until"] !== was["lease_until"],
  );
  return { was: found!.was!, is: found!.is!, entry: found! };
}

export function end(entries: Falsified["audit"]): Row {
  return entries.find(({ ended }) => ended !== null)!.ended!;
}

/** An asynchronous one, by which only what came after its beginning can be lost. */
export function failover(record: Falsified, fromMs: number, toMs: number): void {
  const fault = { process: "nemesis", incarnation: 1, op: "failover", target: "store" };
  const detail = { mode: "async", lostAfterMs: fromMs };
  record.history.push(
    { ...fault, kind: "invoke", atMs: fromMs, detail },
    { ...fault, kind: "ok", atMs: toMs },
  );
}

export function drop(record: Falsified, isUnwanted: (one: HistoryEvent) => boolean): void {
  record.history = record.history.filter((one) => !isUnwanted(one));
}

export const last = <T>(values: readonly T[]): T => values.at(-1) as T;

export const isLate = ({ kind, outcome }: HistoryEvent): boolean => kind === "fail" && outcome === "stale";
