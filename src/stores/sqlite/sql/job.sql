-- name: find job    :job_id
select j.*, q.name as queue_name, coalesce(j.input, i.input) as whole_input
  from leasehold_job j
  join leasehold_queue q on q.id = j.queue
  left join leasehold_input i on i.seq = j.seq
 where j.job_id = :job_id;

-- name: find jobs    :ids
select j.*, q.name as queue_name, coalesce(j.input, i.input) as whole_input
  from json_each(:ids) e
  cross join leasehold_job j on j.job_id = e.value
  join leasehold_queue q on q.id = j.queue
  left join leasehold_input i on i.seq = j.seq;

-- name: find job by seq    :seq
select j.*, q.name as queue_name, coalesce(j.input, i.input) as whole_input
  from leasehold_job j
  join leasehold_queue q on q.id = j.queue
  left join leasehold_input i on i.seq = j.seq
 where j.seq = :seq;

-- name: list jobs    :filter :before :limit
-- Newest first. A member of :filter that is missing filters nothing.
select j.*, q.name as queue_name, coalesce(j.input, i.input) as whole_input
  from leasehold_job j
  join leasehold_queue q on q.id = j.queue
  left join leasehold_input i on i.seq = j.seq
 where j.seq < :before
   and (:filter ->> 'queue' is null or q.name = :filter ->> 'queue')
   and (:filter ->> 'name' is null or j.name = :filter ->> 'name')
   and (:filter ->> 'uniqueKey' is null or j.unique_key = :filter ->> 'uniqueKey')
   and (:filter ->> 'resource' is null or j.resource = :filter ->> 'resource')
   and (:filter ->> 'states' is null or (case when j.phase < 4 and j.owner is not null then 'leased'
                                              when j.phase < 4 then 'ready'
                                              when j.phase = 4 then 'completed'
                                              when j.phase = 5 then 'failed'
                                              else 'cancelled' end)
                                        in (select value from json_each(:filter, '$.states')))
 order by j.seq desc
 limit :limit + 0;

-- name: save job    :seq :expected_owner :expected_generation …
-- Writes what a transition of the protocol core made of the row that it was read from. Owner and generation are
-- compared once more: a row that is no longer the one that was judged is not written.
update leasehold_job
   set phase = :phase, run_at = :run_at, owner = :owner, lease_until = :lease_until, generation = :generation,
       raised_by = :raised_by, attempt = :attempt, expired_count = :expired_count, run = :run, heals = :heals,
       cancel_requested = :cancel_requested, resource_generation = :resource_generation, result = :result,
       error = :error, progress = :progress, finished_at = :finished_at, end_reason = :end_reason,
       settled_owner = :settled_owner, settled_generation = :settled_generation,
       settled_operation = :settled_operation, blocked_by = :blocked_by
 where seq = :seq and owner is :expected_owner and generation = :expected_generation
returning tail;

-- name: write progress    :seq :progress
update leasehold_job set progress = :progress where seq = :seq;

-- name: delete job    :seq
delete from leasehold_job where seq = :seq and (phase not in (1, 2, 3) or owner is null) and phase <> 2;

-- name: prunable    :after :limit :completed_before :failed_before
-- A piece of the history, in order of arrival; the caller goes on where it stopped. What somebody waits for may yet be
-- retried.
select seq, job_id, queue, phase, generation
  from leasehold_job
 where seq > :after and phase > 3
   and finished_at <= case phase when 5 then :failed_before else :completed_before end
   and not exists (select 1 from leasehold_dependency where after = leasehold_job.seq)
 order by seq
 limit :limit + 0;
