/**
 * A record of every change of a job's row on PostgreSQL, written by triggers in the transaction that makes the change, and
 * the invariants held against it: so each is seen in the order in which the store made it, whoever made it.
 */

export type Query = (text: string, params?: unknown[]) => Promise<Record<string, unknown>[]>;

interface Change {
  readonly job: string;
  readonly was: Row | null;
  /** Null: the row has left the table of live jobs. */
  readonly is: Row | null;
  readonly ended: string | null;
}

interface Row {
  readonly owner: string | null;
  readonly generation: number;
  readonly lease_until: number | null;
  readonly claimed_at: number | null;
  readonly attempt: number;
}

export interface Audited {
  /** What was found broken, in words; empty when all holds. */
  readonly broken: readonly string[];
  readonly claims: number;
  /** Claims that took over a lapsed lease. */
  readonly reclaims: number;
  /** By job id, the states in which it has ended. */
  readonly ends: ReadonlyMap<string, readonly string[]>;
}

const INSTALL = `
create table SCHEMA.audit (id bigint generated always as identity, job uuid not null, was jsonb, "is" jsonb, ended text);
create function SCHEMA.audit_job() returns trigger language plpgsql as $$
begin
  insert into SCHEMA.audit (job, was, "is") values (
    case when tg_op = 'DELETE' then old.job_id else new.job_id end,
    case when tg_op <> 'INSERT' then to_jsonb(old) end,
    case when tg_op <> 'DELETE' then to_jsonb(new) end);
  return null;
end $$;
create function SCHEMA.audit_end() returns trigger language plpgsql as $$
begin
  insert into SCHEMA.audit (job, ended) values (new.job_id, new.state);
  return null;
end $$;
create trigger audit after insert or update or delete on SCHEMA.job for each row execute function SCHEMA.audit_job();
create trigger audit after insert on SCHEMA.history for each row execute function SCHEMA.audit_end();
`;

/** From now on all is recorded; the store must be open. */
export async function startAudit(query: Query, schema = "leasehold"): Promise<void> {
  await query(INSTALL.replaceAll("SCHEMA", schema));
}

/** Holds what was recorded against I1 to I5. */
export async function audit(query: Query, schema = "leasehold"): Promise<Audited> {
  const changes = (await query(
    `select job, was, "is", ended from ${schema}.audit order by id`,
  )) as unknown as Change[];
  const broken: string[] = [];
  const ends = new Map<string, string[]>();
  const owners = new Map<string, string>();
  let claims = 0;
  let reclaims = 0;
  for (const { job, was, is, ended } of changes) {
    const say = (what: string): void => void broken.push(`${what}: ${job} ${words(was)} -> ${words(is)}`);
    if (ended !== null) {
      ends.set(job, [...(ends.get(job) ?? []), ended]);
      if ((ends.get(job)?.length ?? 0) > 1) say("I5 a job ended twice");
      continue;
    }
    if (was === null || is === null) continue;
    if (is.generation < was.generation) say("I2 a generation fell");
    if (is.owner === null || (is.owner === was.owner && is.generation === was.generation)) continue;
    claims += 1;
    if (is.generation <= was.generation) say("I2 a claim did not raise the generation");
    const token = `${job} ${is.generation}`;
    if (owners.has(token)) say("I1 a generation was given out twice");
    owners.set(token, is.owner);
    if (was.owner === null) continue;
    reclaims += 1;
    if ((was.lease_until ?? 0) > (is.claimed_at ?? 0)) say("I3 a lease was taken over before its end");
  }
  return { broken, claims, reclaims, ends };
}

function words(row: Row | null): string {
  return row === null ? "nothing" : `${row.owner ?? "nobody"} at ${row.generation}`;
}
