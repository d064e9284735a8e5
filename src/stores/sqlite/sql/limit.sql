-- name: find limit    :queue
select concurrency, rate_count, rate_per_ms, starts from leasehold_limit where queue = :queue;

-- name: save limit    :queue :concurrency :rate_count :rate_per_ms
-- What a rate has to remember stays: a changed limit gives nobody a fresh start.
insert into leasehold_limit (queue, concurrency, rate_count, rate_per_ms)
values (:queue, :concurrency, :rate_count, :rate_per_ms)
    on conflict (queue) do update
   set concurrency = excluded.concurrency, rate_count = excluded.rate_count, rate_per_ms = excluded.rate_per_ms;

-- name: drop limit    :queue
delete from leasehold_limit where queue = :queue;

-- name: mark limited    :queue :limited
update leasehold_queue set limited = :limited where id = :queue;

-- name: save starts    :queue :starts
update leasehold_limit set starts = :starts where queue = :queue;

-- name: slots    :from :to
-- All that the queue ever had, which its largest limit bounds; those that nobody holds are pruned like any named lease.
select name, owner, lease_until, lease_ms, generation, held_for, last_owner, heals, claimed_at, released_at
  from leasehold_lease where name >= :from and name < :to;
