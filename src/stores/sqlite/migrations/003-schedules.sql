-- works with: 1
-- Schema 3. Code of schema 1 works on: it neither knows nor fires schedules, and their jobs are jobs like any other.

create table leasehold_schedule (
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

create index leasehold_schedule_due on leasehold_schedule (next_slot) where paused = 0 and next_slot is not null;
create index leasehold_schedule_set on leasehold_schedule (set_at) where paused = 0;
