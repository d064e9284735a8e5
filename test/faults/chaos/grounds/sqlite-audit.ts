/**
 * Every change of a job's row on SQLite, written by triggers in the transaction that makes it. An ended row stays in its
 * table there; the record shows what both stores mean by it: the row leaves the live jobs, and arrives in the history.
 */

import type { Database } from "leasehold/sqlite";
import type { AuditEntry } from "../record.ts";
import { jsonOf } from "./columns.ts";

/** The phases from which on a row is history, in their order. */
const ENDED = 4;
const STATES = "'completed', 'failed', 'cancelled'";

export function auditTriggers(database: Database): string {
  const columns = database.prepare("pragma table_info(leasehold_job)").all();
  const names = columns.map((column) => String((column as { name: unknown }).name));
  const [was, is] = [jsonOf("old", names), jsonOf("new", names)];
  const state = `json_extract(json_array(${STATES}), '$[' || (new.phase - ${ENDED}) || ']')`;
  const entry = (job: string, values: string): string => `
    insert into chaos_audit (job, was, "is", ended, store_ms, epoch)
    select ${job}, ${values}, cast(unixepoch('subsec') * 1000 as integer), epoch from leasehold_store`;
  const live = (row: string): string => `${row}.phase < ${ENDED}`;
  const arrives = `${entry("new.job_id", `null, null, json_set(${is}, '$.state', ${state})`)}`;
  return `
create table chaos_audit (
  seq integer primary key autoincrement, job text not null, was text, "is" text, ended text, store_ms integer not null,
  epoch integer not null
) strict;
create trigger chaos_inserted after insert on leasehold_job begin
  ${entry("new.job_id", `null, ${is}, null`)} where ${live("new")};
  ${arrives} where not ${live("new")};
end;
create trigger chaos_updated after update on leasehold_job begin
  ${entry("new.job_id", `case when ${live("old")} then ${was} end, case when ${live("new")} then ${is} end, null`)}
    where ${live("old")} or ${live("new")};
  ${arrives} where ${live("old")} and not ${live("new")};
end;
create trigger chaos_deleted after delete on leasehold_job begin
  ${entry("old.job_id", `${was}, null, null`)} where ${live("old")};
end;`;
}

export function readAudit(database: Database): AuditEntry[] {
  const rows = database
    .prepare(`select seq, job, was, "is", ended, store_ms, epoch from chaos_audit order by seq`)
    .all() as Record<string, unknown>[];
  return rows.map(({ seq, job, was, is, ended, store_ms, epoch }) => ({
    seq: Number(seq),
    job: String(job),
    was: parsed(was),
    is: parsed(is),
    ended: parsed(ended),
    storeMs: Number(store_ms),
    epoch: Number(epoch),
    timeline: 0,
  }));
}

function parsed(text: unknown): Record<string, unknown> | null {
  return typeof text === "string" ? JSON.parse(text) : null;
}
