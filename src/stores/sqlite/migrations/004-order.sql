-- works with: 4
-- Jobs that wait for others. Older code would claim nothing wrongly, but would end jobs without freeing those behind them.
--
-- Two phases more: -1 blocked, -2 blocked behind the holder of its unique key, which is therefore not its own yet (C17).
alter table leasehold_job add column blocked_by integer not null default 0;
alter table leasehold_job add column tail integer;  -- null: its end concerns nobody; 0: somebody waits; else its batch's id

drop index leasehold_job_unique;
create unique index leasehold_job_unique on leasehold_job (name, unique_key)
  where unique_key is not null and phase < 4 and phase > -2;
create unique index leasehold_job_following on leasehold_job (name, unique_key)
  where unique_key is not null and phase = -2;
create index leasehold_job_blocked on leasehold_job (queue) where phase < 0;

-- `job` waits for `after`; both are seqs. A row goes when that is no longer so.
create table leasehold_dependency (
  after integer not null,
  job integer not null,
  on_failure text not null,
  primary key (after, job)
) strict, without rowid;

create index leasehold_dependency_job on leasehold_dependency (job);

-- Jobs that have gone away, and behind which more were waiting than one transaction frees.
create table leasehold_unfreed (
  seq integer primary key,
  how text not null
) strict;

create table leasehold_batch (
  id integer primary key autoincrement,
  name text not null unique,
  total integer not null default 0,
  completed integer not null default 0,
  failed integer not null default 0,
  cancelled integer not null default 0,
  then_job integer,                   -- a seq; once it is given there are no new members
  touched_at integer not null
) strict;

create index leasehold_batch_touched on leasehold_batch (touched_at);
create index leasehold_batch_then on leasehold_batch (then_job) where then_job is not null;
