-- name: find queue    :name
select id, name, paused, limited from leasehold_queue where name = :name;

-- name: add queue    :name
insert into leasehold_queue (name) values (:name) on conflict (name) do nothing;

-- name: queue names
select id, name from leasehold_queue;

-- name: pause queue    :name :paused
insert into leasehold_queue (name, paused) values (:name, :paused)
  on conflict (name) do update set paused = excluded.paused;

-- name: count ends    :id :completed :failed :cancelled
-- Differences: a retry or a deletion counts down.
update leasehold_queue
   set completed = completed + :completed, failed = failed + :failed, cancelled = cancelled + :cancelled
 where id = :id;

-- name: count queues
select q.name, q.paused, q.limited, l.concurrency, l.rate_count, l.rate_per_ms, q.completed, q.failed, q.cancelled,
       (select count(*) from leasehold_job where phase = 1 and queue = q.id and owner is null)
         + (select count(*) from leasehold_job where phase = 0 and queue = q.id)
         + (select count(*) from leasehold_job where phase = 3 and queue = q.id and owner is null)
         + (select count(*) from leasehold_job where phase < 0 and queue = q.id) as ready,
       (select count(*) from leasehold_job where phase < 0 and queue = q.id) as blocked,
       (select count(*) from leasehold_job where phase = 0 and queue = q.id and run_at > :now) as delayed,
       (select count(*) from leasehold_job where phase = 2 and queue = q.id)
         + (select count(*) from leasehold_job where phase in (1, 3) and owner is not null and queue = q.id) as leased,
       (select count(*) from leasehold_job where phase = 2 and queue = q.id and lease_until <= :now)
         + (select count(*) from leasehold_job
             where phase in (1, 3) and owner is not null and queue = q.id and lease_until <= :now) as expired
  from leasehold_queue q
  left join leasehold_limit l on l.queue = q.id
 order by q.name;
