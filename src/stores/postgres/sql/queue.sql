-- name: add queues    $1 names
insert into {schema}.queue (name)
select g.name
  from jsonb_array_elements_text($1::text::jsonb) g (name)
 where not exists (select from {schema}.queue q where q.name = g.name)
 order by g.name collate "C"
    on conflict (name) do nothing;

-- name: pause queue    $1 name  $2 paused
-- Inserts only what is not there: an insert that meets a row uses up one of the queues' numbers, of which there are 2^31.
with there as (
  update {schema}.queue set paused = $2::boolean where name = $1::text returning 1
)
insert into {schema}.queue (name, paused)
select $1::text, $2::boolean
 where not exists (select from there)
    on conflict (name) do update set paused = excluded.paused;

-- name: count ends    $1 queue  $2 completed  $3 failed  $4 cancelled
-- Differences: a retry or a deletion counts down.
insert into {schema}.ended (queue, completed, failed, cancelled)
select id, $2::text::bigint, $3::text::bigint, $4::text::bigint from {schema}.queue where name = $1::text;

-- name: count queues
with moment as materialized (
  select m.* from {schema}.moment m
), live as (
  select j.queue,
         count(*) filter (where j.owner is null) as ready,
         count(*) filter (where j.owner is null and j.run_at > m.now and j.blocked_by is null) as delayed,
         count(*) filter (where j.blocked_by is not null) as blocked,
         count(*) filter (where j.owner is not null) as leased,
         count(*) filter (where j.lease_until <= m.now) as expired
    from {schema}.job j, moment m
   group by j.queue
), ended as (
  select queue, sum(completed)::bigint as completed, sum(failed)::bigint as failed, sum(cancelled)::bigint as cancelled
    from {schema}.ended
   group by queue
)
select q.name, q.paused, q.limited, t.concurrency, t.rate_count, t.rate_per_ms, coalesce(l.ready, 0) as ready, coalesce(l.delayed, 0) as delayed,
       coalesce(l.blocked, 0) as blocked,
       coalesce(l.leased, 0) as leased, coalesce(l.expired, 0) as expired, coalesce(e.completed, 0) as completed,
       coalesce(e.failed, 0) as failed, coalesce(e.cancelled, 0) as cancelled
  from {schema}.queue q
  left join {schema}.queue_limit t on t.queue = q.id
  left join live l on l.queue = q.id
  left join ended e on e.queue = q.id
 order by q.name;
