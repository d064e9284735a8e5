-- name: enqueue alike    :jobs …
-- Jobs that differ in id and input alone, which is what a bulk is: :jobs is an array of [job_id, input]. A job id that
-- is there already, live or in history, is the same job (C1): the unique index answers, and the number of changes tells.
insert into leasehold_job (job_id, name, queue, priority, phase, run_at, lease_ms, max_attempts, max_run_ms, backoff,
                           resource, unique_key, input, created_at, blocked_by, tail)
select value ->> 0, :name, :queue, :priority, :phase, :run_at, :lease_ms, :max_attempts, :max_run_ms, :backoff,
       :resource, :unique_key, value ->> 1, :now, :blocked_by, :tail
  from json_each(:jobs)
 where true
    on conflict (job_id) do nothing;

-- name: enqueue one    :job_id :input …
-- Also the pattern for many rows by parameters.
insert into leasehold_job (job_id, name, queue, priority, phase, run_at, lease_ms, max_attempts, max_run_ms, backoff,
                           resource, unique_key, input, created_at, blocked_by, tail)
values (:job_id, :name, :queue, :priority, :phase, :run_at, :lease_ms, :max_attempts, :max_run_ms, :backoff,
        :resource, :unique_key, :input, :now, :blocked_by, :tail)
    on conflict (job_id) do nothing;

-- name: enqueue at once    :job_id :input …
-- The common single job, in one statement: due now, without key or resource, in a queue that is known, under a schema
-- that works with :newest. When it writes nothing, one of these is not so, or the job id is there already.
insert into leasehold_job (job_id, name, queue, priority, phase, lease_ms, max_attempts, max_run_ms, backoff, input,
                           created_at)
select :job_id, :name, id, :priority, 1, :lease_ms, :max_attempts, :max_run_ms, :backoff, :input,
       cast(round(unixepoch('subsec') * 1000) as integer)
  from leasehold_queue
 where name = :queue and (select works_with from leasehold_store) <= :newest
    on conflict (job_id) do nothing;

-- name: last seq
-- 0 in a table that never held a job.
select coalesce((select seq from sqlite_sequence where name = 'leasehold_job'), 0) as seq;

-- name: put long input    :job_id :input
insert into leasehold_input (seq, input)
select seq, :input from leasehold_job where job_id = :job_id
    on conflict (seq) do update set input = excluded.input;

-- name: drop long input    :seq
delete from leasehold_input where seq = :seq;

-- name: find holder of key    :name :unique_key
select seq, job_id, phase, owner, generation, resource
  from leasehold_job
 where name = :name and unique_key = :unique_key and unique_key is not null and phase < 4 and phase > -2;

-- name: replace waiting    :seq …
-- A blocked one stays so.
update leasehold_job
   set queue = :queue, priority = :priority, phase = iif(phase < 0, phase, :phase), run_at = :run_at, lease_ms = :lease_ms,
       max_attempts = :max_attempts, max_run_ms = :max_run_ms, backoff = :backoff, resource = :resource, input = :input
 where seq = :seq and generation = 0 and phase in (-2, -1, 0, 1, 3);

-- name: states of jobs    :ids
select j.job_id, j.seq, j.phase, j.owner, j.end_reason
  from json_each(:ids) e
  cross join leasehold_job j on j.job_id = e.value;
