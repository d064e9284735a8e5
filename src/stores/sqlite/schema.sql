CREATE TABLE leasehold_batch (
  id integer primary key autoincrement,
  name text not null unique,
  total integer not null default 0,
  completed integer not null default 0,
  failed integer not null default 0,
  cancelled integer not null default 0,
  then_job integer,                   -- a seq; once it is given there are no new members
  touched_at integer not null
) strict;

CREATE TABLE leasehold_dependency (
  after integer not null,
  job integer not null,
  on_failure text not null,
  primary key (after, job)
) strict, without rowid;

CREATE TABLE leasehold_input (
  seq integer primary key,
  input text not null
) strict;

CREATE TABLE leasehold_job (
  seq integer primary key autoincrement,
  job_id text not null unique,
  name text not null,
  queue integer not null references leasehold_queue (id),
  priority integer not null,
  phase integer not null,
  run_at integer,                       -- null: due whatever the clock says
  owner text,
  lease_until integer,                  -- never indexed: claims and renewals change it
  lease_ms integer not null,
  generation integer not null default 0,
  raised_by text,
  attempt integer not null default 0,
  max_attempts integer not null,
  expired_count integer not null default 0,
  run integer not null default 1,
  heals integer not null default 0,
  cancel_requested integer not null default 0,
  resource text,
  resource_generation integer,
  unique_key text,
  max_run_ms integer,
  backoff text,
  input text,                           -- null: too long for the row, which every claim rewrites; see leasehold_input
  result text,
  error text,
  progress text,
  created_at integer not null,
  claimed_at integer,
  finished_at integer,
  end_reason text,
  settled_owner text,
  settled_generation integer,
  settled_operation text
, blocked_by integer not null default 0, tail integer) strict;

CREATE TABLE leasehold_journal (
  id integer primary key,
  line text not null,
  kind text not null,
  at integer not null,
  owner text,
  generation integer not null,
  current integer,
  operation text,
  message text,
  count integer not null default 1
) strict;

CREATE TABLE leasehold_lease (
  name text primary key,
  owner text,
  lease_until integer,
  lease_ms integer not null,
  generation integer not null,
  held_for text,
  last_owner text,
  heals integer not null default 0,
  claimed_at integer not null,
  released_at integer
) strict, without rowid;

CREATE TABLE leasehold_limit (
  queue integer primary key,
  concurrency integer,              -- null: as many as there are places for
  rate_count integer,
  rate_per_ms integer,
  starts text not null default '[]' -- [[from ms, count], …]: jobs that began lately, for the rate
) strict;

CREATE TABLE leasehold_queue (
  id integer primary key,
  name text not null unique,
  paused integer not null default 0,
  completed integer not null default 0,
  failed integer not null default 0,
  cancelled integer not null default 0
, limited integer not null default 0) strict;

CREATE TABLE leasehold_schedule (
  name text primary key,
  revision text not null,               -- new with every change but a firing
  version integer not null,
  cron text,                            -- with its zone, or else every_ms
  zone text,
  every_ms integer,
  at_most integer not null,
  paused integer not null default 0,
  next_slot integer,                    -- null: there is none any more
  set_at integer not null,              -- store time when next_slot was noted: a clock that is set back shows by it
  last_slot integer,
  covered text not null,
  template text not null,
  created_at integer not null,
  changed_at integer not null
) strict;

CREATE TABLE leasehold_step (
  seq integer not null,
  run integer not null,
  step text not null,
  state text not null,
  owner text,
  generation integer not null,
  attempt integer not null,
  begun_at integer,                     -- null: it may be repeated, so that no beginning is written
  ended_at integer,
  result text,
  error text,
  primary key (seq, run, step)
) strict;

CREATE TABLE leasehold_store (
  id integer primary key check (id = 1),
  schema_version integer not null,
  works_with integer not null,          -- the oldest schema whose code can still work here
  epoch integer not null,
  deleted_generation integer not null,  -- highest generation of any job or named lease ever deleted
  boot_id text                          -- the boot in which the file was last opened with synchronous=normal
) strict;

CREATE TABLE leasehold_unfreed (
  seq integer primary key,
  how text not null
) strict;

CREATE INDEX leasehold_batch_then on leasehold_batch (then_job) where then_job is not null;

CREATE INDEX leasehold_batch_touched on leasehold_batch (touched_at);

CREATE INDEX leasehold_dependency_job on leasehold_dependency (job);

CREATE INDEX leasehold_job_blocked on leasehold_job (queue) where phase < 0;

CREATE INDEX leasehold_job_delayed on leasehold_job (run_at) where phase = 0;

CREATE UNIQUE INDEX leasehold_job_following on leasehold_job (name, unique_key)
  where unique_key is not null and phase = -2;

CREATE INDEX leasehold_job_in_line on leasehold_job (resource, queue, priority) where phase = 1 and resource is not null;

CREATE INDEX leasehold_job_leased on leasehold_job (queue) where phase = 2;

CREATE INDEX leasehold_job_open on leasehold_job (queue) where phase in (1, 3) and owner is not null;

CREATE INDEX leasehold_job_ready on leasehold_job (queue, priority, seq) where phase = 1;

CREATE UNIQUE INDEX leasehold_job_unique on leasehold_job (name, unique_key)
  where unique_key is not null and phase < 4 and phase > -2;

CREATE INDEX leasehold_job_waiting on leasehold_job (resource, priority, seq) where phase = 3;

CREATE INDEX leasehold_journal_line on leasehold_journal (line, id);

CREATE UNIQUE INDEX leasehold_journal_refused on leasehold_journal (line, generation, owner, operation)
  where kind = 'refused';

CREATE INDEX leasehold_lease_held on leasehold_lease (name) where owner is not null;

CREATE INDEX leasehold_schedule_due on leasehold_schedule (next_slot) where paused = 0 and next_slot is not null;

CREATE INDEX leasehold_schedule_set on leasehold_schedule (set_at) where paused = 0;
