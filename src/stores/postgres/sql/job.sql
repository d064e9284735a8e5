-- name: find jobs    $1 job ids
select r.*, (select q.name from {schema}.queue q where q.id = r.queue) as queue_name
  from {schema}.record r
 where r.job_id = any ($1::uuid[]);

-- name: list jobs    $1 before  $2 limit  $3 queue  $4 name  $5 unique key  $6 resource  $7 states
-- Newest first. A filter that is null filters nothing.
select r.*, (select q.name from {schema}.queue q where q.id = r.queue) as queue_name
  from {schema}.record r
 where r.seq < $1::bigint
   and ($3::text is null or r.queue = (select q.id from {schema}.queue q where q.name = $3::text))
   and ($4::text is null or r.name = $4::text)
   and ($5::text is null or r.unique_key = $5::text)
   and ($6::text is null or r.resource = $6::text)
   and ($7::text[] is null or r.state = any ($7::text[]))
 order by r.seq desc
 limit $2::integer;

-- name: lock job    $1 job id
-- Waits for whoever has the row, and then sees it as it has become.
select job_id from {schema}.job where job_id = $1::text::uuid for update;

-- name: lock jobs    $1 job ids
select job_id from {schema}.job where job_id = any ($1::uuid[]) order by job_id for update;

-- name: lock ended jobs    $1 job ids
select job_id from {schema}.history where job_id = any ($1::uuid[]) order by job_id for update;

-- name: lock unlocked jobs    $1 job ids
select job_id from {schema}.job where job_id = any ($1::uuid[]) order by job_id for update skip locked;

-- name: lock ended job    $1 job id
select job_id from {schema}.history where job_id = $1::text::uuid for update;

-- name: find job    $1 job id
select r.*, (select q.name from {schema}.queue q where q.id = r.queue) as queue_name
  from {schema}.record r
 where r.job_id = $1::text::uuid;

-- name: save job    $1 job
-- Writes what a transition of the protocol core made of a live row, which this transaction has locked. Owner and
-- generation are compared once more: a row that is no longer the one that was judged is not written.
update {schema}.job j
   set ready = g.ready, waiting = g.waiting, run_at = g.run_at, owner = g.owner, lease_until = g.lease_until,
       generation = g.generation, raised_by = g.raised_by, attempt = g.attempt, expired_count = g.expired_count,
       run = g.run, heals = g.heals, cancel_requested = g.cancel_requested,
       resource_generation = g.resource_generation, error = g.error, progress = g.progress,
       settled_owner = g.settled_owner, settled_generation = g.settled_generation,
       settled_operation = g.settled_operation
  from jsonb_to_record($1::text::jsonb)
    as g (job_id uuid, expected_owner text, expected_generation bigint, ready boolean, waiting boolean, run_at bigint, owner text,
          lease_until bigint, generation bigint, raised_by text, attempt integer, expired_count integer, run integer,
          heals integer, cancel_requested boolean, resource_generation bigint, error text, progress text,
          settled_owner text, settled_generation bigint, settled_operation text)
 where j.job_id = g.job_id and j.owner is not distinct from g.expected_owner and j.generation = g.expected_generation
returning j.tail;

-- name: end job    $1 job
-- The same for a job that ends: it goes into history and its key is free, in this statement.
with given as materialized (
  select *
    from jsonb_to_record($1::text::jsonb)
      as g (job_id uuid, expected_owner text, expected_generation bigint, state text, end_reason text,
            generation bigint, raised_by text, attempt integer, expired_count integer, run integer, heals integer,
            result text, error text, progress text, finished_at bigint, settled_owner text, settled_generation bigint,
            settled_operation text)
), gone as (
  delete from {schema}.job j
   using given g
   where j.job_id = g.job_id and j.owner is not distinct from g.expected_owner and j.generation = g.expected_generation
  returning j.*
), freed_key as (
  delete from {schema}.unique_key k
   using gone
   where k.name = gone.name and k.key = gone.unique_key and k.job_id = gone.job_id and k.next is null
)
insert into {schema}.history (job_id, seq, name, queue, priority, state, end_reason, lease_ms, generation, raised_by,
                              attempt, max_attempts, expired_count, run, heals, resource, unique_key, max_run_ms,
                              backoff, input, result, error, progress, created_at, claimed_at, finished_at,
                              settled_owner, settled_generation, settled_operation, tail)
select j.job_id, j.seq, j.name, j.queue, j.priority, g.state, g.end_reason, j.lease_ms, g.generation, g.raised_by,
       g.attempt, j.max_attempts, g.expired_count, g.run, g.heals, j.resource, j.unique_key, j.max_run_ms,
       j.backoff, j.input, g.result, g.error, g.progress, j.created_at, j.claimed_at, g.finished_at,
       g.settled_owner, g.settled_generation, g.settled_operation, j.tail
  from gone j, given g
returning tail;

-- name: revive job    $1 job
-- C18: an ended job comes back, with its place. The caller has taken its key. Somebody may wait for just this.
with given as materialized (
  select *
    from jsonb_to_record($1::text::jsonb)
      as g (job_id uuid, expected_generation bigint, generation bigint, raised_by text, attempt integer,
            expired_count integer, run integer, heals integer, error text, progress text, settled_owner text,
            settled_generation bigint, settled_operation text)
), gone as (
  delete from {schema}.history h
   using given g
   where h.job_id = g.job_id and h.generation = g.expected_generation
  returning h.*
)
insert into {schema}.job (job_id, seq, name, queue, priority, ready, waiting, lease_ms, generation, raised_by, attempt,
                          max_attempts, expired_count, run, heals, resource, unique_key, max_run_ms, backoff, input,
                          error, progress, created_at, claimed_at, settled_owner, settled_generation,
                          settled_operation, tail)
select h.job_id, h.seq, h.name, h.queue, h.priority, h.resource is null, h.resource is not null, h.lease_ms, g.generation, g.raised_by, g.attempt,
       h.max_attempts, g.expired_count, g.run, g.heals, h.resource, h.unique_key, h.max_run_ms, h.backoff, h.input,
       g.error, g.progress, h.created_at, h.claimed_at, g.settled_owner, g.settled_generation,
       g.settled_operation,
       coalesce(h.tail, case when exists (select from {schema}.dependency d where d.after_id = h.job_id) then 0 end)
  from gone h, given g
returning tail;

-- name: write progress    $1 job id  $2 progress
update {schema}.job set progress = $2::text where job_id = $1::text::uuid;

-- name: delete job    $1 job id
-- C14: never a leased one.
with live as (
  delete from {schema}.job where job_id = $1::text::uuid and owner is null
  returning job_id, seq, name, unique_key, tail
), freed_key as (
  delete from {schema}.unique_key k
   using live
   where k.name = live.name and k.key = live.unique_key and k.job_id = live.job_id and k.next is null
), ended as (
  delete from {schema}.history where job_id = $1::text::uuid returning seq, tail
), dropped_steps as (
  delete from {schema}.step where seq = any (array(select seq from live union all select seq from ended))
), forgotten as (
  delete from {schema}.journal where line = 'job:' || $1::text
)
select tail from live union all select tail from ended;

-- name: prune    $1 after seq  $2 piece  $3 limit  $4 completed ms  $5 failed ms  $6 steps
-- C14: a piece of the history, in order of arrival, behind the last one, and no more of it than has $6 steps. What
-- somebody waits for may yet be retried. The last row tells where it stopped.
with moment as materialized (
  select m.* from {schema}.moment m
), piece as materialized (
  select job_id, seq, state, finished_at from {schema}.history where seq > $1::bigint order by seq limit (select $2::integer)
), of_age as materialized (
  select p.job_id, p.seq, (select count(*) from {schema}.step s where s.seq = p.seq) as steps
    from piece p, moment m
   where p.finished_at <= m.now - case p.state when 'failed' then $5::bigint else $4::bigint end
     and not exists (select from {schema}.dependency d where d.after_id = p.job_id limit 1)
   order by p.seq
   limit $3::integer
), old as materialized (
  select job_id, seq
    from (select job_id, seq, sum(steps) over (order by seq) as steps, row_number() over (order by seq) as nth from of_age) w
   where steps <= $6::bigint or nth = 1
), gone as (
  delete from {schema}.history
   where job_id = any (array(select h.job_id from {schema}.history h
                              where h.job_id = any (array(select job_id from old))
                                for update skip locked))
  returning job_id, seq, queue, state, generation
), dropped_steps as (
  delete from {schema}.step where seq = any (array(select seq from gone))
), forgotten as (
  delete from {schema}.journal where line = any (array(select 'job:' || job_id from gone))
), counted as (
  insert into {schema}.ended (queue, completed, failed, cancelled)
  select queue, -count(*) filter (where state = 'completed'), -count(*) filter (where state = 'failed'),
         -count(*) filter (where state = 'cancelled')
    from gone group by queue
), raised as (
  update {schema}.store
     set deleted_generation = greatest(deleted_generation, (select max(generation) from gone))
   where exists (select from gone)
)
select (select count(*) from gone) as gone,
       (select count(*) from piece) as looked_at,
       (select count(*) from old) as old,
       (select count(*) from of_age) as of_age,
       (select max(seq) from old) as last_old,
       (select max(seq) from piece) as last;
