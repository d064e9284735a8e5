-- works with: 5
-- Schema 5: limits of queues. Code of an older schema would claim beyond them, so it is shut out.

alter table {schema}.queue add column limited boolean not null default false;

-- Locked by each claim from a queue with a limit, so that two of them never give out the same slot or start.
create table {schema}.queue_limit (
  queue integer primary key,
  concurrency integer,               -- null: as many as there are places for
  rate_count integer,
  rate_per_ms bigint,
  starts text not null default '[]'  -- [[from ms, count], …]: jobs that began lately, for the rate
) with (fillfactor = 50);
