-- name: write steps    $1 job ids  $2 owners  $3 generations  $4 steps  $5 states  $6 afters  $7 results  $8 errors
-- C8's last sentence, together with the resource that the run holds. What stands in `where` is the rule of the protocol
-- core (`writeStep`) once more. No step stands twice in a batch. Rows of jobs that somebody else has locked are skipped and
-- answer `busy`.
with moment as materialized (
  select m.*, set_config('synchronous_commit', 'on', true) as durable from {schema}.moment m
), present as materialized (
  select j.*, g.step, g.state, g.after, g.result, g.error
    from unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[])
      as g (job_id, owner, generation, step, state, after, result, error)
   cross join lateral (
         select job_id, seq, run, attempt, owner, generation, resource, resource_generation
           from {schema}.job
          where job_id = g.job_id and owner = g.owner and generation = g.generation
            and generation > (select epoch_start from moment)
            for update skip locked) j
), held as materialized (
  select l.name
    from present p
    join {schema}.lease l on l.name = p.resource and l.owner = p.owner and l.generation = p.resource_generation
   where p.resource is not null
   order by l.name
     for update of l skip locked
), current as materialized (
  select * from present where resource is null or resource in (select name from held)
), written as (
  insert into {schema}.step as s (seq, run, step, state, owner, generation, attempt, begun_at, ended_at, result, error)
  select c.seq, c.run, c.step, c.state, c.owner, c.generation, c.attempt,
         case when c.state = 'begun' then m.now end, case when c.state <> 'begun' then m.now end, c.result, c.error
    from current c
   cross join moment m
   order by c.seq, c.step
      on conflict (seq, run, step)
      do update set state = excluded.state, owner = excluded.owner, generation = excluded.generation,
                    attempt = excluded.attempt, begun_at = coalesce(excluded.begun_at, s.begun_at),
                    ended_at = excluded.ended_at, result = excluded.result, error = excluded.error
       where s.state <> 'done'
         and case excluded.state
             when 'done' then true
             when 'failed' then s.state = 'begun' and s.generation = excluded.generation
             else s.generation <> excluded.generation
                  and s.generation = (select c.after from current c where c.seq = excluded.seq and c.step = excluded.step)
             end
  returning s.seq, s.step
)
-- Looked up in a hash: a join would be planned for a single row, and take each with each.
select job_id, step from current where ((seq, step) in (select seq, step from written)) is true;

-- name: find steps    $1 job ids  $2 steps
-- Of the present runs; more than were asked for, where a batch names several steps of several jobs.
select j.job_id, s.*
  from {schema}.job j
  join {schema}.step s on s.seq = j.seq and s.run = j.run
 where j.job_id = any ($1::uuid[]) and s.step = any ($2::text[]);

-- name: steps    $1 job id  $2 run
-- $2 null: the job's present one.
select s.*
  from {schema}.record r
  join {schema}.step s on s.seq = r.seq and s.run = coalesce($2::integer, r.run)
 where r.job_id = $1::text::uuid
 order by coalesce(s.begun_at, s.ended_at), s.step;

-- name: find step    $1 seq  $2 run  $3 step
select * from {schema}.step where seq = $1::bigint and run = $2::integer and step = $3::text;

-- name: resolve step    $1 seq  $2 run  $3 step  $4 state  $5 ended at  $6 result
update {schema}.step
   set state = $4::text, owner = null, ended_at = $5::bigint, result = $6::text, error = null
 where seq = $1::bigint and run = $2::integer and step = $3::text;
