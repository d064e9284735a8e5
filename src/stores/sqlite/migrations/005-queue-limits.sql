-- works with: 5
-- Schema 5: limits of queues. Code of an older schema would claim beyond them, so it is shut out.

alter table leasehold_queue add column limited integer not null default 0;

create table leasehold_limit (
  queue integer primary key,
  concurrency integer,              -- null: as many as there are places for
  rate_count integer,
  rate_per_ms integer,
  starts text not null default '[]' -- [[from ms, count], …]: jobs that began lately, for the rate
) strict;
