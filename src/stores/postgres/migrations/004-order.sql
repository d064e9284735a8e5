-- works with: 4
-- Jobs that wait for others. Older code would claim nothing wrongly, but would end jobs without freeing those behind them.
--
-- A blocked row stands in no line: it is neither ready nor waiting, and the index of delayed ones leaves it out.
alter table {schema}.job add column blocked_by integer;  -- null: by nobody
alter table {schema}.job add column tail bigint;         -- null: its end concerns nobody; 0: somebody waits; else its batch's id
alter table {schema}.history add column tail bigint;

drop index {schema}.job_delayed;
create index job_delayed on {schema}.job (run_at) where not ready and not waiting and blocked_by is null;
create index job_blocked on {schema}.job (seq) where blocked_by is not null;

create or replace view {schema}.record as
select job_id, seq, name, queue, priority, case when owner is null then 'ready' else 'leased' end as state, run_at, owner,
       lease_until, lease_ms, generation, raised_by, attempt, max_attempts, expired_count, run, heals, cancel_requested,
       resource, resource_generation, unique_key, max_run_ms, backoff, input, null::text as result, error, progress,
       created_at, claimed_at, null::bigint as finished_at, null::text as end_reason, settled_owner, settled_generation,
       settled_operation, coalesce(blocked_by, 0) as blocked_by
  from {schema}.job
union all
select job_id, seq, name, queue, priority, state, null::bigint, null::text collate "C",
       null::bigint, lease_ms, generation, raised_by, attempt, max_attempts, expired_count, run, heals, false,
       resource, null::bigint, unique_key, max_run_ms, backoff, input, result, error, progress,
       created_at, claimed_at, finished_at, end_reason, settled_owner, settled_generation,
       settled_operation, 0
  from {schema}.history;

-- C17: the one that is blocked behind the holder of a key, and has it next.
alter table {schema}.unique_key add column next uuid;

-- `job_id` waits for `after_id`. A row goes when that is no longer so.
create table {schema}.dependency (
  after_id uuid,
  job_id uuid,
  on_failure text not null,
  primary key (after_id, job_id)
);

create index dependency_job on {schema}.dependency (job_id);

-- Jobs that have gone away, and behind which somebody was locked, or more were waiting than one transaction frees.
create table {schema}.unfreed (
  job_id uuid primary key,
  how text not null
);

create table {schema}.batch (
  id bigint generated always as identity primary key,
  name text collate "C" not null unique,
  total bigint not null default 0,
  completed bigint not null default 0,
  failed bigint not null default 0,
  cancelled bigint not null default 0,
  then_id uuid,                        -- once it is given there are no new members
  touched_at bigint not null
);

create index batch_touched on {schema}.batch (touched_at);
create index batch_then on {schema}.batch (then_id) where then_id is not null;

-- What is to be added to a batch's counts. A line a transaction, folded after it: with one counter everybody who ends a
-- member would wait for the commit of everybody else.
create table {schema}.batch_line (
  id bigint generated always as identity primary key,
  batch bigint not null,
  total bigint not null default 0,
  completed bigint not null default 0,
  failed bigint not null default 0,
  cancelled bigint not null default 0
);

create index batch_line_batch on {schema}.batch_line (batch);
