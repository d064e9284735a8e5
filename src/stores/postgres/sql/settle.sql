-- name: complete plain    $1 owner  $2 job ids  $3 generations  $4 results
-- C6 as it nearly always is: of a job that holds no resource, has no key, and that nobody waits for. The fence is the predicate; a matching owner
-- means that the row is leased, so no lease state is named. The rows are reached by primary key, one at a time and in the
-- order in which they are given, whatever the planner believes; what somebody else has locked is left alone. They are deleted where
-- they were locked: a row that was renewed just before that stands elsewhere by then, and is left for `complete`. $4 is an
-- object of results by job id, looked into without joining anything; a job without a result is not in it. Which were
-- completed is told only where it was not all of them.
with moment as materialized (
  select now, epoch_start, set_config('synchronous_commit', 'on', true) as durable from {schema}.moment
), present as materialized (
  select j.at
    from unnest($2::uuid[], $3::bigint[]) as f (job_id, generation)
   cross join lateral (
         select ctid as at
           from {schema}.job
          where job_id = f.job_id and owner = $1::text and generation = f.generation
            and generation > (select epoch_start from moment)
            and num_nulls(resource, unique_key, tail) = 3
            for update skip locked) j
), completed as (
  delete from {schema}.job where ctid = any (array(select at from present))
  returning job_id, seq, name, queue, priority, lease_ms, generation, raised_by, attempt, max_attempts, run, heals,
            max_run_ms, backoff, input, progress, created_at, claimed_at, owner
), kept as (
  insert into {schema}.history (job_id, seq, name, queue, priority, state, end_reason, lease_ms, generation, raised_by,
                                attempt, max_attempts, expired_count, run, heals, max_run_ms, backoff, input, result,
                                progress, created_at, claimed_at, finished_at, settled_owner, settled_generation,
                                settled_operation)
  select c.job_id, c.seq, c.name, c.queue, c.priority, 'completed', 'completed', c.lease_ms, c.generation, c.raised_by,
         c.attempt, c.max_attempts, 0, c.run, c.heals, c.max_run_ms, c.backoff, c.input, $4::jsonb ->> c.job_id::text,
         c.progress, c.created_at, c.claimed_at, m.now, c.owner, c.generation, 'complete'
    from completed c
   cross join moment m
), counted as (
  insert into {schema}.ended (queue, completed) select queue, count(*) from completed group by queue
)
select count(*)::integer as completed,
       case when count(*) < cardinality($2) then (select json_agg(job_id) from completed) end as those
  from completed;

-- name: complete    $1 job ids  $2 owners  $3 generations  $4 results  $5 tails
-- C6 with all that belongs to it: the job goes into history, its key is free, its resource goes to the first that waits
-- for it, all in this statement. Jobs that others wait for, or that a batch counts, are completed with $5 only, which needs
-- a transaction with the statements that free those; without it they are named as not done.
with moment as materialized (
  select m.*, set_config('synchronous_commit', 'on', true) as durable from {schema}.moment m
), present as materialized (
  select j.*
    from unnest($1::uuid[], $2::text[], $3::bigint[]) as f (job_id, owner, generation)
   cross join lateral (
         select job_id, owner, resource, resource_generation, tail
           from {schema}.job
          where job_id = f.job_id and owner = f.owner and generation = f.generation
            and generation > (select epoch_start from moment)
            for update skip locked) j
), held as materialized (
  select l.name
    from present p
    join {schema}.lease l on l.name = p.resource and l.owner = p.owner and l.generation = p.resource_generation
   where p.resource is not null
   order by l.name
     for update of l skip locked
), completed as (
  delete from {schema}.job
   where job_id = any (array(select job_id from present
                              where (resource is null or resource in (select name from held))
                                and ($5::boolean or tail is null)))
  returning *
), kept as (
  insert into {schema}.history (job_id, seq, name, queue, priority, state, end_reason, lease_ms, generation, raised_by,
                                attempt, max_attempts, expired_count, run, heals, resource, unique_key, max_run_ms,
                                backoff, input, result, error, progress, created_at, claimed_at, finished_at,
                                settled_owner, settled_generation, settled_operation, tail)
  select c.job_id, c.seq, c.name, c.queue, c.priority, 'completed', 'completed', c.lease_ms, c.generation, c.raised_by,
         c.attempt, c.max_attempts, 0, c.run, c.heals, c.resource, c.unique_key, c.max_run_ms,
         c.backoff, c.input, $4::jsonb ->> c.job_id::text, null, c.progress, c.created_at, c.claimed_at, m.now,
         c.owner, c.generation, 'complete', c.tail
    from completed c
   cross join moment m
), counted as (
  insert into {schema}.ended (queue, completed) select queue, count(*) from completed group by queue
), freed_key as (
  delete from {schema}.unique_key k
   using completed c
   where k.name = c.name and k.key = c.unique_key and k.job_id = c.job_id and k.next is null
), given_up as (
  update {schema}.lease l
     set owner = null, lease_until = null, held_for = null, released_at = m.now
    from completed c, moment m
   where l.name = c.resource and l.held_for = c.job_id
  returning l.name
), next as (
  update {schema}.job
     set ready = true, waiting = false
   where job_id = any (array(
         select (select w.job_id
                   from {schema}.job w
                  where w.waiting
                    and (w.resource, w.priority, w.seq) >= (g.name, '-2147483648'::integer, 0) and w.resource <= g.name
                    and w.job_id <> all (array(select job_id from present))
                  order by w.resource, w.priority, w.seq
                  limit 1
                    for update skip locked)
           from given_up g))
)
select job_id, resource, tail, name, unique_key, true as done from completed
 union all
select job_id, null, tail, null, null, false from present where tail is not null and not $5::boolean;
