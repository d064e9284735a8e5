-- works with: 1
-- Schema 2: steps. They belong to a job's `seq` and not to its id, so that code of schema 1, which deletes a job without
-- them, leaves nothing that a later job of the same derived id could take for its own.
create table leasehold_step (
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
