/**
 * Every change of a job's row on PostgreSQL, written by triggers in the transaction that makes it. The lock of the row is
 * held until it commits, so that the entries of one job stand in the order in which they took effect.
 */

import { eventually } from "../../../support/eventually.ts";
import type { OwnServer } from "../../../support/own-server.ts";
import { SELECT_DECISIONS } from "../processes/decisions.js";
import type { AuditEntry, DestinationEntry } from "../record.ts";

export const AUDIT_TRIGGERS = `
create table chaos_audit (
  seq bigint generated always as identity primary key, job uuid not null, was jsonb, "is" jsonb, ended jsonb, store_ms bigint not null,
  epoch bigint not null, timeline integer not null
);
create function chaos_audit(job uuid, was jsonb, "is" jsonb, ended jsonb) returns void language sql as $$
  insert into chaos_audit (job, was, "is", ended, store_ms, epoch, timeline)
  select job, was, "is", ended, now, epoch, timeline from leasehold.moment
$$;
create function chaos_audit_job() returns trigger language plpgsql as $$
begin
  perform chaos_audit(
    case when tg_op = 'DELETE' then old.job_id else new.job_id end,
    case when tg_op <> 'INSERT' then to_jsonb(old) end,
    case when tg_op <> 'DELETE' then to_jsonb(new) end, null);
  return null;
end $$;
create function chaos_audit_end() returns trigger language plpgsql as $$
begin
  perform chaos_audit(new.job_id, null, null, to_jsonb(new));
  return null;
end $$;
create trigger chaos_audit after insert or update or delete on leasehold.job for each row execute function chaos_audit_job();
create trigger chaos_audit after insert on leasehold.history for each row execute function chaos_audit_end();
`;

const SELECT_AUDIT = `select seq, job, was, "is", ended, store_ms as "storeMs", epoch, timeline
  from chaos_audit where seq > $1 order by seq limit $2`;

/** So many at a time come through between two crashes of the server, however many there are after a long run. */
const PAGE = 2_000;

/** After the change of that number. */
export async function auditOf(server: OwnServer, afterSeq = 0): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for (;;) {
    const after = entries.at(-1)?.seq ?? afterSeq;
    const numbers = ["seq", "storeMs", "epoch"] as const;
    const page = await read<AuditEntry>(server, SELECT_AUDIT, numbers, [after, PAGE]);
    entries.push(...page);
    if (page.length < PAGE) return entries;
  }
}

export async function decisionsOf(server: OwnServer): Promise<DestinationEntry[]> {
  return read<DestinationEntry>(server, SELECT_DECISIONS, ["seq", "generation"]);
}

/** Also while somebody lays hands on the server: then as soon as it answers. */
async function read<Row extends object>(
  server: OwnServer,
  select: string,
  numbers: readonly (keyof Row & string)[],
  params: unknown[] = [],
): Promise<Row[]> {
  const rows = await eventually("the server can be read", () =>
    server.query(select, params).catch(() => undefined),
  );
  return rows.map(
    (row) => ({ ...row, ...Object.fromEntries(numbers.map((name) => [name, Number(row[name])])) }) as Row,
  );
}
