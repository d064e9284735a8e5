/** The lines that somebody needs who looks into a violation. */

import type { AuditEntry, HistoryEvent } from "../record.ts";
import type { Evidence } from "./evidence.ts";
import { type Fault, overlaps } from "./faults.ts";
import type { Broken } from "./verdict.ts";

/** So many of each, half of them before. */
const LINES = 10;

export function around(evidence: Evidence, broken: Broken): string[] {
  const { record, history, time } = evidence;
  const { job, seq } = broken;
  const audit = record.audit.filter((entry) => job === undefined || entry.job === job);
  const own = history.filter((event) => job === undefined || event.job === job);
  const atSeq = record.audit.find((entry) => entry.seq === seq);
  const atMs =
    broken.atMs ??
    (atSeq === undefined ? undefined : time.monotonicMs(atSeq.storeMs)) ??
    own.at(-1)?.atMs ??
    0;
  const storeMs = atSeq?.storeMs ?? time.storeMs(atMs) ?? Number.POSITIVE_INFINITY;
  const rows = nearest(audit, (entry) => (seq === undefined ? entry.storeMs >= storeMs : entry.seq >= seq));
  const events = nearest(own, (event) => event.atMs >= atMs);
  const fromMs = Math.min(atMs, events[0]?.atMs ?? atMs);
  const toMs = Math.max(atMs, events.at(-1)?.atMs ?? atMs);
  return [
    ...rows.map((entry) => rowLine(entry, time.monotonicMs(entry.storeMs))),
    ...events.map(eventLine),
    ...evidence.faults
      .filter((fault) => overlaps(fault, fromMs, toMs))
      .slice(0, LINES)
      .map(faultLine),
  ];
}

function nearest<T>(values: readonly T[], isAfter: (value: T) => boolean): readonly T[] {
  const index = values.findIndex(isAfter);
  const middle = index < 0 ? values.length : index;
  const from = Math.max(0, Math.min(middle - LINES / 2, values.length - LINES));
  return values.slice(from, from + LINES);
}

function ms(value: number): string {
  return value.toFixed(1).padStart(12);
}

function rowLine({ seq, was, is, ended, storeMs, epoch }: AuditEntry, atMs: number | undefined): string {
  const place = atMs === undefined ? `${storeMs}`.padStart(14) : ms(atMs);
  return `audit   ${place} #${seq} epoch ${epoch}: ${words(was)} -> ${ended === null ? words(is) : `ended ${words(ended)}`}`;
}

function words(row: AuditEntry["was"]): string {
  if (row === null) return "nothing";
  const state = row["state"] ?? (row["owner"] == null ? "ready" : "leased");
  const settled =
    row["settled_operation"] == null
      ? ""
      : ` settled ${row["settled_operation"]}@${row["settled_generation"]}`;
  const until = row["lease_until"] == null ? "" : ` until ${row["lease_until"]}`;
  return `${state} ${row["owner"] ?? "nobody"}@${row["generation"]} attempt ${row["attempt"]}${until}${settled}`;
}

function eventLine(event: HistoryEvent): string {
  const { atMs, process, incarnation, kind, op, request, generation, owner, outcome, key, detail } = event;
  const parts = [
    request === undefined ? "" : `request ${request}`,
    owner === undefined && generation === undefined ? "" : `${owner ?? "?"}@${generation ?? "?"}`,
    outcome ?? "",
    key ?? "",
    detail === undefined ? "" : JSON.stringify(detail),
  ];
  return `history ${ms(atMs)} ${process}/${incarnation} ${kind} ${op} ${parts.filter((part) => part !== "").join(" ")}`;
}

function faultLine({ name, target, fromMs, toMs }: Fault): string {
  return `nemesis ${ms(fromMs)} to ${toMs.toFixed(1)} ${name} of ${target ?? "all"}`;
}
