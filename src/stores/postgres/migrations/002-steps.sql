-- works with: 1
-- Schema 2: steps. They belong to a job's `seq` and not to its id, so that code of schema 1, which deletes a job without
-- them, leaves nothing that a later job of the same derived id could take for its own.
create table {schema}.step (
  seq bigint not null,
  run integer not null,
  step text collate "C" not null,
  state text not null,
  owner text collate "C",
  generation bigint not null,
  attempt integer not null,
  begun_at bigint,                         -- null: it may be repeated, so that no beginning is written
  ended_at bigint,
  result text,
  error text,
  primary key (seq, run, step)
);
