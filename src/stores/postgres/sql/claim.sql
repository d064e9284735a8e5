-- name: claim ready    $1 owner  $2 queues  $3 shares  $4 priorities  $5 seqs  $6 limited  $7 limit
-- C2 as it nearly always is: nothing lapsed is taken over, and no job asks for a resource. When one does, this claims
-- nothing and says so: `claim` is then to be asked. It can do both, but takes three times as long to plan. Each queue is
-- looked at in its turn, from the hint ($4, $5) on: behind it lie only rows that are leased or dead. Locked rows are
-- somebody else's already. It is said in words of which the planner knows nothing (a comparison of whole rows, a count of
-- nulls), so that it takes the line in its order, whatever its statistics say or lack: they are never right about a queue.
-- Rows are written by way of `any (array(…))`, which the planner takes for ten elements: so it
-- goes to the rows themselves, whatever it believes of the table. The first row of the answer is about the claim as a
-- whole, a JSON text in the place of an input, and in the end of it how long the look has taken, the commit not included; the jobs come after it, in no order. All that is a number stands in one
-- array, because each column of a row costs as much as all of its numbers.
with moment as materialized (
  select m.*, set_config('synchronous_commit', 'on', true) as durable from {schema}.moment m
), timeline as (
  update {schema}.store s
     set epoch = m.epoch, timeline = m.timeline
    from moment m
   where s.timeline < m.timeline and not m.history_changed
), asked as materialized (
  select q.id, q.name, case when q.limited = $6::boolean then a.share else 0 end as share, a.priority, a.seq
    from unnest($2::text[], $3::integer[], $4::integer[], $5::bigint[])
         with ordinality as a (name, share, priority, seq, turn)
    join {schema}.queue q on q.name = a.name
   where not q.paused and not (select history_changed from moment)
   order by a.turn
), found as materialized (
  select j.*
    from asked a
   cross join lateral (
         select ctid as at, queue, resource
           from {schema}.job
          where ready
            and (queue, priority, seq) >= (a.id, a.priority, a.seq) and queue <= a.id
            and num_nulls(owner) > 0
          order by queue, priority, seq
          limit a.share
            for update skip locked) j
   limit $7::integer
), claimed as (
  update {schema}.job j
     set owner = $1,
         lease_until = m.now + j.lease_ms,
         generation = greatest(j.generation, m.floor) + 1,
         raised_by = 'claim',
         attempt = j.attempt + 1,
         run_at = null,
         resource_generation = null,
         claimed_at = m.now
    from moment m
   where j.ctid = any (array(select at from found
                              where not exists (select from found f where f.resource is not null)))
  returning j.job_id, array[j.seq, j.queue, j.priority, j.lease_ms, j.generation, j.attempt, j.max_attempts,
                            j.expired_count, j.run, j.heals, j.resource_generation, j.max_run_ms, j.created_at,
                            j.settled_generation, null, null] as numbers,
            j.name, j.unique_key, j.backoff, j.input, j.error, j.progress, j.settled_owner, j.settled_operation
)
select null::uuid as job_id, null::bigint[] as numbers, null::text as name, null::text as resource,
       null::text as unique_key, null::text as backoff,
       json_build_object(
         'now', m.now,
         'historyChanged', m.history_changed,
         'nextRunAt', (select min(run_at) from {schema}.job where not ready and not waiting and blocked_by is null),
         'resources', exists (select from found where resource is not null),
         'waits', 0,
         'limited', (select json_agg(name) from asked where share = 0),
         'queues', (select json_agg(json_build_array(a.id, a.name, n.found))
                      from asked a
                      join (select queue, count(*) as found from found group by queue) n on n.queue = a.id),
         'tookMs', extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::text as input,
       null::text as error, null::text as progress, null::text as settled_owner, null::text as settled_operation,
       null::text as previous_owner
  from moment m
 union all
select job_id, numbers, name, null, unique_key, backoff, input, error, progress, settled_owner, settled_operation, null
  from claimed;

-- name: claim    $1 owner  $2 queues  $3 shares  $4 priorities  $5 seqs  $6 limited  $7 takeover  $8 candidates  $9 limit  $10 sent
-- C2 with all that belongs to it. Of the jobs of one resource only the first may have it, when nobody else holds it; the
-- rest leave the line to wait. A row with an owner is a lapsed lease, to be taken over, unless it lapsed while this claim was
-- on its way ($10, the store's time when it was sent): its owner may have been cut off as well, and come back (W7).
with moment as materialized (
  select m.*, least(m.now, $10::bigint) as lapsed_by, set_config('synchronous_commit', 'on', true) as durable
    from {schema}.moment m
), timeline as (
  update {schema}.store s
     set epoch = m.epoch, timeline = m.timeline
    from moment m
   where s.timeline < m.timeline and not m.history_changed
), asked as materialized (
  select q.id, q.name, case when q.limited = $6::boolean then a.share else 0 end as share, a.priority, a.seq
    from unnest($2::text[], $3::integer[], $4::integer[], $5::bigint[])
         with ordinality as a (name, share, priority, seq, turn)
    join {schema}.queue q on q.name = a.name
   where not q.paused and not (select history_changed from moment)
   order by a.turn
), found as materialized (
  select j.*
    from asked a
   cross join lateral (
         select ctid as at, job_id, queue, priority, seq, resource, lease_ms, owner, lease_until, generation, claimed_at
           from {schema}.job
          where ready
            and (queue, priority, seq) >= (a.id, a.priority, a.seq) and queue <= a.id
            and (num_nulls(owner) > 0
                 or ($7::boolean and lease_until <= (select lapsed_by from moment)
                     and attempt < max_attempts and not cancel_requested))
          order by queue, priority, seq
          limit a.share
            for update skip locked) j
   limit $8::integer
), candidate as materialized (
  select f.*, row_number() over () as place from found f
), first as materialized (
  select distinct on (resource) resource, place from candidate where resource is not null order by resource, place
), free as materialized (
  select l.name
    from first f
    join {schema}.lease l on l.name = f.resource
   where l.owner is null or ($7::boolean and l.lease_until <= (select lapsed_by from moment))
     for update of l skip locked
), available as materialized (
  select f.resource, f.place
    from first f
   where f.resource in (select name from free)
      or not exists (select from {schema}.lease l where l.name = f.resource)
), chosen as materialized (
  select c.*
    from candidate c
    left join available a on a.resource = c.resource
   where c.resource is null or a.place = c.place
   order by c.place
   limit $9::integer
), taken as (
  update {schema}.lease l
     set owner = $1, lease_until = m.now + c.lease_ms, lease_ms = c.lease_ms,
         generation = greatest(l.generation, m.floor) + 1, held_for = c.job_id, last_owner = $1,
         claimed_at = m.now, released_at = null
    from chosen c, moment m
   where l.name = c.resource and l.name in (select name from free)
  returning l.name, l.generation
), made as (
  insert into {schema}.lease (name, owner, lease_until, lease_ms, generation, held_for, last_owner, claimed_at)
  select c.resource, $1, m.now + c.lease_ms, c.lease_ms, m.floor + 1, c.job_id, $1, m.now
    from chosen c, moment m
   where c.resource is not null and not exists (select from {schema}.lease l where l.name = c.resource)
      on conflict (name) do nothing
  returning name, generation
), held as (
  select name, generation from taken union all select name, generation from made
), claimed as (
  update {schema}.job j
     set owner = $1,
         lease_until = m.now + j.lease_ms,
         generation = greatest(j.generation, m.floor) + 1,
         raised_by = 'claim',
         attempt = j.attempt + 1,
         expired_count = j.expired_count + (j.owner is not null)::integer,
         run_at = null,
         resource_generation = (select h.generation from held h where h.name = j.resource),
         claimed_at = m.now
    from moment m
   where j.ctid = any (array(select at from chosen))
     and (j.resource is null or j.resource in (select name from held))
  returning j.*
), sent_to_wait as (
  update {schema}.job
     set ready = false, waiting = true
   where ctid = any (array(
         select c.at
           from candidate c
           left join available a on a.resource = c.resource
          where c.resource is not null
            and (a.resource is null
                 or (a.place <> c.place
                     and c.resource in (select resource from chosen where resource is not null)))))
  returning 1
), told as (
  insert into {schema}.journal (line, kind, at, owner, generation)
  select 'job:' || p.job_id, n.kind, n.at, p.owner, p.generation
    from chosen p
    join claimed c on c.job_id = p.job_id
   cross join lateral (values ('claimed', p.claimed_at), ('lapsed', p.lease_until)) n (kind, at)
   where p.owner is not null
   order by p.place, n.kind
)
select null::uuid as job_id, null::bigint[] as numbers, null::text as name, null::text as resource,
       null::text as unique_key, null::text as backoff,
       json_build_object(
         'now', m.now,
         'historyChanged', m.history_changed,
         'nextRunAt', (select min(run_at) from {schema}.job where not ready and not waiting and blocked_by is null),
         'resources', false,
         'waits', (select count(*) from sent_to_wait),
         'limited', (select json_agg(name) from asked where share = 0),
         'queues', (select json_agg(json_build_array(a.id, a.name, n.found))
                      from asked a
                      join (select queue, count(*) as found from found group by queue) n on n.queue = a.id),
         'tookMs', extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::text as input,
       null::text as error, null::text as progress, null::text as settled_owner, null::text as settled_operation,
       null::text as previous_owner
  from moment m
 union all
select c.job_id,
       array[c.seq, c.queue, c.priority, c.lease_ms, c.generation, c.attempt, c.max_attempts, c.expired_count, c.run, c.heals,
             c.resource_generation, c.max_run_ms, c.created_at, c.settled_generation, p.generation, p.lease_until],
       c.name, c.resource, c.unique_key, c.backoff, c.input, c.error, c.progress, c.settled_owner, c.settled_operation,
       p.owner
  from claimed c
  left join (select job_id, owner, generation, lease_until from chosen where owner is not null) p
    on p.job_id = c.job_id;

-- name: promote due    $1 limit
-- Delayed jobs that are due take their place by seq (C15). Once promoted they stay due, also over a step back (I3). One
-- that asks for a resource waits for it first, since others may, too.
with due as materialized (
  select ctid as at
    from {schema}.job
   where not ready and not waiting and blocked_by is null
     and run_at <= (select (extract(epoch from clock_timestamp()) * 1000)::bigint)
   order by run_at
   limit (select $1::integer)
     for update skip locked
)
update {schema}.job set ready = resource is null, waiting = resource is not null, run_at = null
 where ctid = any (array(select at from due))
returning resource;

-- name: let next have each    $1 resources
-- Of resources that nobody holds and of which no job stands in a line.
update {schema}.job
   set ready = true, waiting = false
 where job_id = any (array(
       select (select w.job_id
                 from {schema}.job w
                where w.waiting
                  and (w.resource, w.priority, w.seq) >= (r.name, '-2147483648'::integer, 0) and w.resource <= r.name
                order by w.resource, w.priority, w.seq
                limit 1
                  for update skip locked)
         from unnest($1::text[]) r (name)
        where not exists (select from {schema}.lease l, {schema}.moment m
                           where l.name = r.name and l.owner is not null and l.lease_until > m.now)
          and (select true from {schema}.job j
                where j.ready and j.resource is not null and num_nulls(j.owner) > 0
                  and j.resource >= r.name and j.resource <= r.name
                order by j.resource, j.queue, j.priority
                limit 1) is null));

-- name: let next have    $1 resource
-- One at a time, in order: the others would only be sent back to wait.
update {schema}.job
   set ready = true, waiting = false
 where job_id = (select job_id from {schema}.job
                  where waiting
                    and (resource, priority, seq) >= ($1, '-2147483648'::integer, 0) and resource <= $1
                  order by resource, priority, seq
                  limit 1
                    for update skip locked);
