-- name: lock limit    $1 queue
-- The store's time is read by the next statement: the lock may have been waited for.
select q.id, l.concurrency, l.rate_count, l.rate_per_ms, l.starts
  from {schema}.queue q
  join {schema}.queue_limit l on l.queue = q.id
 where q.name = $1::text and q.limited and not q.paused
   for update of l;

-- name: slots    $1 from  $2 to
-- All that the queue ever had, which its largest limit bounds; those that nobody holds are pruned like any named lease.
select name, owner, lease_until, lease_ms, generation, held_for, last_owner, heals, claimed_at, released_at
  from {schema}.lease where name >= $1::text and name < $2::text;

-- name: take slots    $1 slots
-- $1 is an array of objects with name, owner and lease_ms. Only what is still free: an owner whose lease had lapsed may have
-- renewed it since it was looked at (C5), and is not waited for.
insert into {schema}.lease as l (name, owner, lease_until, lease_ms, generation, last_owner, claimed_at)
select g.name, g.owner, m.now + g.lease_ms, g.lease_ms, m.floor + 1, g.owner, m.now
  from jsonb_to_recordset($1::text::jsonb) as g (name text, owner text, lease_ms bigint), {schema}.moment m
 order by g.name collate "C"
    on conflict (name) do update
   set owner = excluded.owner, lease_until = excluded.lease_until, lease_ms = excluded.lease_ms,
       generation = greatest(l.generation, excluded.generation - 1) + 1, held_for = null,
       last_owner = excluded.owner, claimed_at = excluded.claimed_at, released_at = null
 where l.owner is null or l.lease_until <= excluded.claimed_at
returning name, generation;

-- name: save starts    $1 queue  $2 starts
update {schema}.queue_limit set starts = $2::text where queue = $1::text::integer;

-- name: save limit    $1 queue  $2 concurrency  $3 rate count  $4 rate per ms
-- What a rate has to remember stays: a changed limit gives nobody a fresh start.
insert into {schema}.queue_limit (queue, concurrency, rate_count, rate_per_ms)
select id, $2::text::integer, $3::text::integer, $4::text::bigint from {schema}.queue where name = $1::text
    on conflict (queue) do update
   set concurrency = excluded.concurrency, rate_count = excluded.rate_count, rate_per_ms = excluded.rate_per_ms;

-- name: drop limit    $1 queue
delete from {schema}.queue_limit where queue = (select id from {schema}.queue where name = $1::text);

-- name: mark limited    $1 queue  $2 limited
update {schema}.queue set limited = $2::text::boolean where name = $1::text;
