-- name: sweep jobs    $1 queue  $2 priority  $3 seq  $4 limit  $5 resource  $6 priority  $7 seq  $8 sent
-- A piece of the line of every queue, and one of those that wait for a resource, each behind the last piece. There is no index on lease_until, whose upkeep at each claim
-- and renewal would cost more than this walk. Brings back leases that start in the future (T5), and names the lapsed
-- ones that cannot be taken over (C12, C13); what can be is found by the claim itself. A limit in a subquery is one that the
-- planner does not know, so that it expects to stop early and follows the index. Two last rows
-- tell where the pieces stopped, unless that was the end.
with moment as materialized (
  select m.* from {schema}.moment m
), piece as materialized (
  select job_id, queue, priority, seq, owner, lease_until, lease_ms, attempt, max_attempts, cancel_requested
    from {schema}.job
   where ready and (queue, priority, seq) > ($1::integer, $2::integer, $3::bigint)
   order by queue, priority, seq
   limit (select $4::integer)
), waiting as materialized (
  select job_id, resource, priority, seq, owner, lease_until, lease_ms, attempt, max_attempts, cancel_requested
    from {schema}.job
   where waiting and (resource, priority, seq) > ($5::text, $6::integer, $7::bigint)
   order by resource, priority, seq
   limit (select $4::integer)
), leased as materialized (
  select job_id, lease_until, lease_ms, attempt, max_attempts, cancel_requested from piece where owner is not null
  union all
  select job_id, lease_until, lease_ms, attempt, max_attempts, cancel_requested from waiting where owner is not null
), ahead as materialized (
  select j.job_id
    from {schema}.job j
   where j.job_id = any (array(select l.job_id from leased l, moment m
                                where l.lease_until - l.lease_ms > m.now + greatest(l.lease_ms / 10, 50)))
     and j.owner is not null
     and j.lease_until - j.lease_ms > (select now from moment) + greatest(j.lease_ms / 10, 50)
   order by j.job_id
     for update skip locked
), rebased as (
  update {schema}.job j
     set lease_until = m.now + j.lease_ms
    from moment m
   where j.job_id = any (array(select job_id from ahead))
)
select l.job_id, null::integer as queue, null::text as resource, null::integer as priority, null::bigint as seq
  from leased l, moment m
 where l.lease_until <= least(m.now, $8::bigint) and (l.attempt >= l.max_attempts or l.cancel_requested)
union all
(select null, queue, null, priority, seq from piece order by queue, priority, seq offset $4::integer - 1)
union all
(select null, null, resource, priority, seq from waiting order by resource, priority, seq offset $4::integer - 1);

-- name: sweep leases    $1 name  $2 limit
-- The same for named leases (T5), in the order of their names.
with moment as materialized (
  select m.* from {schema}.moment m
), piece as materialized (
  select name, owner, lease_until, lease_ms from {schema}.lease where name > $1 order by name limit (select $2::integer)
), ahead as materialized (
  select l.name
    from {schema}.lease l
   where l.name = any (array(select p.name from piece p, moment m
                              where p.owner is not null
                                and p.lease_until - p.lease_ms > m.now + greatest(p.lease_ms / 10, 50)))
     and l.owner is not null
     and l.lease_until - l.lease_ms > (select now from moment) + greatest(l.lease_ms / 10, 50)
     for update skip locked
), rebased as (
  update {schema}.lease l
     set lease_until = m.now + l.lease_ms
    from moment m
   where l.name = any (array(select name from ahead))
)
select name from piece order by name offset $2::integer - 1;

-- name: free waiting    $1 resource  $2 limit  $3 queues
-- Whoever gives a resource up lets the next job have it. This finds the ones for which nobody did: a lapsed lease, or a
-- next job that went away or stands in the line of a queue that is not asked for ($3): nobody may come there. One step for
-- each resource, without walking over everybody who waits for it.
with recursive waited (resource, n) as (
  (select resource, 1 from {schema}.job where waiting and resource > $1 order by resource limit 1)
  union all
  select (select j.resource from {schema}.job j where j.waiting and j.resource > w.resource order by j.resource limit 1),
         w.n + 1
    from waited w
   where w.resource is not null and w.n < $2::integer
), moment as materialized (
  select m.* from {schema}.moment m
), next as materialized (
  select (select j.job_id from {schema}.job j
           where j.waiting
             and (j.resource, j.priority, j.seq) >= (w.resource, '-2147483648'::integer, 0) and j.resource <= w.resource
           order by j.resource, j.priority, j.seq limit 1
             for update skip locked) as job_id
    from waited w
   where w.resource is not null
     and not exists (select from {schema}.lease l, moment m
                      where l.name = w.resource and l.owner is not null and l.lease_until > m.now)
     and (select true from {schema}.job j
           where j.ready and j.resource is not null and num_nulls(j.owner) > 0
             and j.resource >= w.resource and j.resource <= w.resource
             and j.queue = any (array(select q.id from {schema}.queue q
                                       where q.name = any ($3::text[]) and not q.paused))
           order by j.resource, j.queue, j.priority
           limit 1) is null
), freed as (
  update {schema}.job set ready = true, waiting = false where job_id = any (array(select job_id from next))
  returning 1
)
select (select resource from waited where n = $2::integer) as resource, count(*)::integer as freed from freed;

-- name: fold counts    $1 limit
-- Many lines of ended jobs become one a queue.
with gone as (
  delete from {schema}.ended
   where id = any (array(select id from {schema}.ended order by id limit (select $1::integer) for update skip locked))
  returning queue, completed, failed, cancelled
)
insert into {schema}.ended (queue, completed, failed, cancelled)
select queue, sum(completed), sum(failed), sum(cancelled) from gone group by queue;
