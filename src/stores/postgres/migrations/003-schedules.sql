-- works with: 1
-- Schema 3. Code of schema 1 works on: it neither knows nor fires schedules, and their jobs are jobs like any other.

create table {schema}.schedule (
  name text collate "C" primary key,
  revision text not null,              -- new with every change but a firing
  version bigint not null,
  cron text,                           -- with its zone, or else every_ms
  zone text,
  every_ms bigint,
  at_most integer not null,
  paused boolean not null default false,
  next_slot bigint,                    -- null: there is none any more
  set_at bigint not null,              -- store time when next_slot was noted: a clock that is set back shows by it
  last_slot bigint,
  covered text not null,
  template text not null,
  created_at bigint not null,
  changed_at bigint not null
);

create index schedule_due on {schema}.schedule (next_slot) where not paused and next_slot is not null;
create index schedule_set on {schema}.schedule (set_at) where not paused;
