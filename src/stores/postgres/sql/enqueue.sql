-- name: enqueue new    $1 terms  $2 job ids  $3 inputs  $4 which terms  $5 channel  $6 payload
-- C1 for jobs whose ids were made for this call, so that none can be there yet: were one there after all, the whole call
-- would fail with 23505 and nothing be written. What many jobs have in common stands once ($1); $2 to $4 are arrays of
-- texts, side by side. Who listens is told in the same commit ($5, $6), so that nobody is woken too early or has to wait
-- for another one.
with terms as materialized (
  select g.*, q.id as queue_id
    from jsonb_to_recordset($1::text::jsonb)
           as g (n integer, name text, queue text, priority integer, delay_ms bigint, run_at bigint, lease_ms bigint,
                 max_attempts integer, max_run_ms bigint, backoff text, resource text, waits boolean)
    join {schema}.queue q on q.name = g.queue
), added as (
  insert into {schema}.job (job_id, name, queue, priority, ready, waiting, run_at, lease_ms, max_attempts, max_run_ms,
                            backoff, resource, input, created_at)
  select j.job_id::uuid, g.name, g.queue_id, g.priority, due.run_at is null and g.waits is not true,
         due.run_at is null and g.waits is true, due.run_at, g.lease_ms, g.max_attempts,
         g.max_run_ms, g.backoff, g.resource, j.input, m.now
    from rows from (jsonb_array_elements_text($2::text::jsonb), jsonb_array_elements_text($3::text::jsonb),
                    jsonb_array_elements_text($4::text::jsonb)) with ordinality as j (job_id, input, terms, n)
    join terms g on g.n = j.terms::integer
   cross join (select now from {schema}.moment) m
   cross join lateral (select case when g.run_at > m.now then g.run_at
                                   when g.delay_ms > 0 then m.now + g.delay_ms end as run_at) due
   order by j.n
  returning 1
)
select count(*)::integer as added, case when $5::text is not null then pg_notify($5::text, $6::text) end as told from added;
-- name: enqueue    $1 jobs
-- C1. $1 is a JSON text, an array of objects; the order of the array becomes the order of arrival. A job id that is there
-- already, live or in history, is the same job. A delay is added to the store's time. As in all statements that may run
-- in the caller's transaction, parameters are texts alone: every client passes those on alike.
insert into {schema}.job (job_id, name, queue, priority, ready, waiting, run_at, lease_ms, max_attempts, max_run_ms,
                          backoff, resource, unique_key, input, created_at, blocked_by, tail)
select g.job_id, g.name, q.id, g.priority, due.run_at is null and g.waits is not true and g.blocked_by is null,
       due.run_at is null and g.waits is true and g.blocked_by is null, due.run_at, g.lease_ms, g.max_attempts,
       g.max_run_ms, g.backoff, g.resource, g.unique_key, g.input, m.now, g.blocked_by, g.tail
  from (select now from {schema}.moment) m
 cross join jsonb_to_recordset($1::text::jsonb)
         as g (n integer, job_id uuid, name text, queue text, priority integer, delay_ms bigint, run_at bigint,
               lease_ms bigint, max_attempts integer, max_run_ms bigint, backoff text, resource text, unique_key text,
               input text, waits boolean, blocked_by integer, tail bigint)
  join {schema}.queue q on q.name = g.queue
 cross join lateral (select case when g.run_at > m.now then g.run_at
                                 when g.delay_ms > 0 then m.now + g.delay_ms end as run_at) due
 where not exists (select from {schema}.history h where h.job_id = g.job_id)
 order by g.n
    on conflict (job_id) do nothing
returning job_id::text as job_id;

-- name: busy resources    $1 jobs
-- Which of these, an array of objects, have to wait: their resource is held, or a job of it stands before them in the line of
-- their queue. A leased one that still stands there has no say: its lease has. Asked in front of the insert and not in it, so that jobs without a resource do not pay for the question.
-- What happens in between leaves two in the line, or one that waits for nobody until the next sweep. Each is looked for by
-- the order of its index, which no statistics can talk the planner out of.
with moment as materialized (
  select m.* from {schema}.moment m
)
select g.n
  from jsonb_to_recordset($1::text::jsonb) as g (n integer, resource text, queue text, priority integer)
  join {schema}.queue q on q.name = g.queue
 where (select l.owner is not null and l.lease_until > (select now from moment)
          from {schema}.lease l
         where l.name >= g.resource and l.name <= g.resource
         order by l.name
         limit 1)
    or (select true
          from {schema}.job j
         where j.ready and j.resource is not null and num_nulls(j.owner) > 0
           and (j.resource, j.queue, j.priority) >= (g.resource, q.id, '-2147483648'::integer)
           and (j.resource, j.queue, j.priority) <= (g.resource, q.id, g.priority)
         order by j.resource, j.queue, j.priority
         limit 1);

-- name: take back    $1 job ids
-- C1: what was just inserted although history has it, because it ended between the look and the insert. To be run in the
-- same transaction, as a later statement.
delete from {schema}.job j
 using jsonb_array_elements_text($1::text::jsonb) g (job_id)
 where j.job_id = g.job_id::uuid and exists (select from {schema}.history h where h.job_id = j.job_id)
returning j.job_id::text as job_id;

-- name: states of jobs    $1 job ids
-- One after the other: a join would walk over live jobs and history.
select r.job_id::text as job_id, r.state, r.end_reason
  from jsonb_array_elements_text($1::text::jsonb) g (job_id)
 cross join lateral (select job_id, state, end_reason from {schema}.record where job_id = g.job_id::uuid limit 1) r;

-- name: take keys    $1 keys
-- C17. $1 is an array of objects. In the order of the keys, so that two batches with the same ones do not block each
-- other. Waits for whoever has just taken one, and takes it when that is rolled back.
insert into {schema}.unique_key (name, key, job_id)
select g.name, g.key, g.job_id
  from jsonb_to_recordset($1::text::jsonb) as g (name text, key text, job_id uuid)
 order by g.name collate "C", g.key collate "C"
    on conflict (name, key) do nothing
returning job_id::text as job_id;

-- name: drop key    $1 job id
delete from {schema}.unique_key k
 using {schema}.job j
 where j.job_id = $1::text::uuid and k.name = j.name and k.key = j.unique_key and k.job_id = j.job_id;

-- name: give key back    $1 name  $2 key  $3 job id
delete from {schema}.unique_key where name = $1::text and key = $2::text and job_id = $3::text::uuid;

-- name: find holder of key    $1 name  $2 key
select job_id::text as job_id from {schema}.unique_key where name = $1::text and key = $2::text;

-- name: replace waiting    $1 job id  $2 job
-- A blocked one stays so.
update {schema}.job j
   set queue = q.id, priority = g.priority, ready = due.run_at is null and j.blocked_by is null, waiting = false, run_at = due.run_at,
       lease_ms = g.lease_ms, max_attempts = g.max_attempts, max_run_ms = g.max_run_ms, backoff = g.backoff,
       resource = g.resource, input = g.input
  from (select now from {schema}.moment) m
 cross join jsonb_to_record($2::text::jsonb)
         as g (queue text, priority integer, delay_ms bigint, run_at bigint, lease_ms bigint, max_attempts integer,
               max_run_ms bigint, backoff text, resource text, input text)
  join {schema}.queue q on q.name = g.queue
 cross join lateral (select case when g.run_at > m.now then g.run_at
                                 when g.delay_ms > 0 then m.now + g.delay_ms end as run_at) due
 where j.job_id = $1::text::uuid and j.generation = 0 and j.owner is null;

-- name: callers transaction
-- Gives the transaction its id, which it would get from the first insert anyway.
select pg_current_xact_id()::text as id, to_regclass('{schema}.job') is not null as known;

-- name: is still the transaction    $1 id
-- Without an open transaction each statement has one of its own, and another id. Times would not tell them apart: with
-- parameters, or by name, a statement of its own begins later than its transaction too.
select pg_current_xact_id()::text = $1::text as same;

-- name: transaction status    $1 id
select pg_xact_status($1::text::xid8) as status;
