-- name: lock predecessors    $1 job ids
-- Their ends wait for this transaction, or it has waited for them.
select job_id::text as job_id
  from {schema}.job
 where job_id = any (array(select e::uuid from jsonb_array_elements_text($1::text::jsonb) e))
 order by job_id
   for no key update;

-- name: lock ended predecessors    $1 job ids
select job_id::text as job_id
  from {schema}.history
 where job_id = any (array(select e::uuid from jsonb_array_elements_text($1::text::jsonb) e))
 order by job_id
   for no key update;

-- name: watch    $1 job ids
-- From now on their ends are more than their own affair.
update {schema}.job
   set tail = 0
 where job_id = any (array(select e::uuid from jsonb_array_elements_text($1::text::jsonb) e)) and tail is null;

-- name: wait for    $1 dependencies
insert into {schema}.dependency (after_id, job_id, on_failure)
select g.after_id, g.job_id, g.on_failure
  from jsonb_to_recordset($1::text::jsonb) as g (after_id uuid, job_id uuid, on_failure text);

-- name: block    $1 jobs
-- Rows that this transaction has written as blocked; by how many is known only now.
update {schema}.job j
   set blocked_by = nullif(g.by, 0), ready = g.by = 0 and j.run_at is null
  from jsonb_to_recordset($1::text::jsonb) as g (job_id uuid, by integer)
 where j.job_id = g.job_id
   and j.job_id = any (array(select (e ->> 'job_id')::uuid from jsonb_array_elements($1::text::jsonb) e));

-- name: find follower    $1 name  $2 key  $3 holder
select next::text as job_id
  from {schema}.unique_key
 where name = $1::text and key = $2::text and job_id = $3::text::uuid and next is not null;

-- name: set follower    $1 name  $2 key  $3 holder  $4 next
update {schema}.unique_key
   set next = $4::text::uuid
 where name = $1::text and key = $2::text and job_id = $3::text::uuid;

-- name: pass keys    $1 jobs
-- C17: of jobs that are gone; whoever is behind one has the key now, and one that was behind is so no more.
update {schema}.unique_key k
   set job_id = case when k.job_id = g.job_id then k.next else k.job_id end, next = null
  from jsonb_to_recordset($1::text::jsonb) as g (name text, key text, job_id uuid)
 where k.name = g.name and k.key = g.key and k.next is not null and g.job_id in (k.job_id, k.next);

-- name: drop dependencies of    $1 job id
delete from {schema}.dependency where job_id = $1::text::uuid;

-- name: fail behind    $1 departed  $2 limit
-- Ends those that were not to run without a job that failed, and those behind them, up to $2 in all. They have never been
-- claimed, so there is neither a lease nor a run to tell of. Locked rows are left for a sweep, as is what is over $2.
with recursive departed as materialized (
  select g.id, g.how from jsonb_to_recordset($1::text::jsonb) as g (id uuid, how text) where g.how <> 'completed'
), doomed (job_id) as (
  select d.job_id
    from {schema}.dependency d
   where d.after_id = any (array(select id from departed))
     and (d.on_failure = 'fail'
          or (d.on_failure = 'wait' and d.after_id = any (array(select id from departed where how = 'deleted'))))
   union
  select d.job_id
    from doomed x
   cross join lateral (
         select job_id from {schema}.dependency where after_id = x.job_id and on_failure = 'fail' limit $2::text::integer) d
), chosen as materialized (
  select job_id from doomed limit $2::text::integer
), present as materialized (
  select job_id
    from {schema}.job
   where job_id = any (array(select job_id from chosen)) and blocked_by is not null
   order by job_id
     for update skip locked
), gone as (
  delete from {schema}.job where job_id = any (array(select job_id from present))
  returning *
), dropped as (
  delete from {schema}.dependency where job_id = any (array(select job_id from gone))
), freed_key as (
  delete from {schema}.unique_key k
   using gone
   where k.name = gone.name and k.key = gone.unique_key and k.job_id = gone.job_id and k.next is null
), kept as (
  insert into {schema}.history (job_id, seq, name, queue, priority, state, end_reason, lease_ms, generation, raised_by,
                                attempt, max_attempts, expired_count, run, heals, resource, unique_key, max_run_ms,
                                backoff, input, created_at, finished_at, tail)
  select g.job_id, g.seq, g.name, g.queue, g.priority, 'failed', 'dependency', g.lease_ms, g.generation, g.raised_by,
         g.attempt, g.max_attempts, g.expired_count, g.run, g.heals, g.resource, g.unique_key, g.max_run_ms, g.backoff,
         g.input, g.created_at, m.now, g.tail
    from gone g
   cross join (select now from {schema}.moment) m
), counted as (
  insert into {schema}.ended (queue, failed) select queue, count(*) from gone group by queue
)
select job_id::text as job_id, name, unique_key, tail from gone;

-- name: free behind    $1 departed  $2 limit
-- Each that is let go by one of these is blocked by fewer; the last one puts it into its line. Locked rows are left for a
-- sweep: nobody who ends a job waits for a caller's transaction.
with departed as materialized (
  select g.id, g.how from jsonb_to_recordset($1::text::jsonb) as g (id uuid, how text)
), edge as materialized (
  select job_id
    from {schema}.dependency
   where after_id = any (array(select id from departed))
     and (on_failure = 'run' or after_id = any (array(select id from departed where how = 'completed')))
   limit $2::text::integer
), present as materialized (
  select job_id
    from {schema}.job
   where job_id = any (array(select job_id from edge))
   order by job_id
     for update skip locked
), dropped as (
  delete from {schema}.dependency
   where after_id = any (array(select id from departed))
     and job_id = any (array(select job_id from present))
     and (on_failure = 'run' or after_id = any (array(select id from departed where how = 'completed')))
  returning job_id
), let_go as materialized (
  select job_id, count(*)::integer as by from dropped group by job_id
)
update {schema}.job j
   set blocked_by = nullif(greatest(j.blocked_by - l.by, 0), 0), ready = j.blocked_by <= l.by and j.run_at is null
  from let_go l
 where j.job_id = l.job_id and j.job_id = any (array(select job_id from let_go)) and j.blocked_by is not null
returning 1 as freed;

-- name: note unfreed    $1 departed
-- Those behind which somebody stands yet whom their end frees or fails.
insert into {schema}.unfreed (job_id, how)
select g.id, g.how
  from jsonb_to_recordset($1::text::jsonb) as g (id uuid, how text)
 cross join lateral (select from {schema}.dependency
                      where after_id = g.id and (g.how in ('completed', 'deleted') or on_failure <> 'wait')
                      limit 1) d
 order by g.id
    on conflict (job_id) do update set how = excluded.how;

-- name: take unfreed    $1 limit
delete from {schema}.unfreed
 where job_id = any (array(select job_id from {schema}.unfreed order by job_id limit (select $1::text::integer)
                              for update skip locked))
returning job_id::text as id, how;

-- name: look at order    $1 after seq  $2 limit
-- What a sweep has to do; and of a piece of the blocked jobs, behind the last one, what they wait for that is not live. The
-- last row tells where the piece stopped, unless that was the end.
with piece as materialized (
  select job_id, seq from {schema}.job where blocked_by is not null and seq > $1::bigint order by seq limit (select $2::integer)
)
select null::uuid as id, null::text as on_failure, null::bigint as seq,
       exists (select from {schema}.unfreed) as unfreed, exists (select from {schema}.batch_line) as lines
union all
(select d.after_id, d.on_failure, null::bigint, false, false
  from piece p
 cross join lateral (select after_id, on_failure from {schema}.dependency where job_id = p.job_id limit 20) d
  left join lateral (select true as is_live from {schema}.job where job_id = d.after_id limit 1) j on true
 where j.is_live is null)
union all
(select null, null, seq, false, false from piece order by seq offset $2::integer - 1);

-- name: blockers    $1 job id
select r.job_id::text as job_id, r.state, d.on_failure
  from {schema}.dependency d
 cross join lateral (select job_id, state, seq from {schema}.record where job_id = d.after_id) r
 where d.job_id = $1::text::uuid
 order by r.seq
 limit 100;
