-- works with: 1
-- Schema 1. Every name carries the prefix, because these tables may share a file with the application's own.

-- One row: what the floor is made of (protocol section 1) and which schema this is.
create table leasehold_store (
  id integer primary key check (id = 1),
  schema_version integer not null,
  works_with integer not null,          -- the oldest schema whose code can still work here
  epoch integer not null,
  deleted_generation integer not null,  -- highest generation of any job or named lease ever deleted
  boot_id text                          -- the boot in which the file was last opened with synchronous=normal
) strict;

-- Ended jobs are counted here by the statement that ends them, so that no count ever walks over the history (C16).
create table leasehold_queue (
  id integer primary key,
  name text not null unique,
  paused integer not null default 0,
  completed integer not null default 0,
  failed integer not null default 0,
  cancelled integer not null default 0
) strict;

-- Live jobs and history in one table: an ended row stays where it is and leaves every partial index. Moving it to a
-- table of its own cost a fifth of the drain rate and bought nothing, since no index holds ended rows.
--
-- phase: 0 delayed, 1 ready, 2 leased, 3 waiting for its resource, 4 completed, 5 failed, 6 cancelled.
-- A row in phase 1 or 3 that has an owner is a lapsed lease: still `leased` to everyone outside, and still its owner's
-- to renew, until somebody claims it (C5).
create table leasehold_job (
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
) strict;

create index leasehold_job_ready on leasehold_job (queue, priority, seq) where phase = 1;
create index leasehold_job_leased on leasehold_job (queue) where phase = 2;
create index leasehold_job_delayed on leasehold_job (run_at) where phase = 0;
create index leasehold_job_waiting on leasehold_job (resource, priority, seq) where phase = 3;
create index leasehold_job_open on leasehold_job (queue) where phase in (1, 3) and owner is not null;
create unique index leasehold_job_unique on leasehold_job (name, unique_key) where unique_key is not null and phase < 4;

create table leasehold_input (
  seq integer primary key,
  input text not null
) strict;

-- Named leases. One that a job's run holds as its resource carries that job's id.
create table leasehold_lease (
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

create index leasehold_lease_held on leasehold_lease (name) where owner is not null;

-- What happened to leases before their present or last run: that one is read from the row itself, so that a job which
-- succeeds at once costs no line here.
create table leasehold_journal (
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

create index leasehold_journal_line on leasehold_journal (line, id);
create unique index leasehold_journal_refused on leasehold_journal (line, generation, owner, operation)
  where kind = 'refused';

insert into leasehold_store (id, schema_version, works_with, epoch, deleted_generation) values (1, 0, 0, 0, 0);
