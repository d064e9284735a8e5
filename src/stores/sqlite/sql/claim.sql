-- name: look    :queues
-- Without a transaction: an idle worker must not take the write lock. Says whether there is anything to claim, and when
-- the next delayed job is due (of any queue: this is only for sleeping).
select exists (select 1 from json_each(:queues) e
                cross join leasehold_queue q on q.name = e.value and q.paused = 0
                cross join leasehold_job j on j.queue = q.id and j.phase = 1) as some,
       (select min(run_at) from leasehold_job where phase = 0) as next_run_at,
       cast(round(unixepoch('subsec') * 1000) as integer) as now;

-- name: promote due    :now :limit
-- Delayed jobs that are due take their place by seq (C15). Once promoted they stay due, also over a step back (I3). One
-- that asks for a resource waits for it first, since others may, too.
update leasehold_job
   set phase = case when resource is null then 1 else 3 end, run_at = null
 where seq in (select seq from leasehold_job where phase = 0 and run_at <= :now order by run_at limit :limit + 0)
returning resource;

-- name: candidates    :queue :takeover :now :limit
-- In a queue: priority, then seq (C15). A row with an owner is a lapsed lease, to be taken only while it still is one:
-- its owner may have renewed, or the clock stepped back, since the sweep saw it. One JSON text, because handing rows
-- over one by one costs several times what finding them does; the second part of each is what most jobs have nothing in.
select json_group_array(json_array(
         seq, job_id, name, priority, lease_ms, generation, attempt, max_attempts, expired_count, run, created_at,
         coalesce(input, (select i.input from leasehold_input i where i.seq = job.seq)),
         case when resource is not null or unique_key is not null or owner is not null or attempt > 0 or heals > 0
                   or max_run_ms is not null or backoff is not null or settled_owner is not null or progress is not null
              then json_array(owner, lease_until, claimed_at, heals, resource, unique_key, max_run_ms, backoff, error,
                              progress, settled_owner, settled_generation, settled_operation, raised_by)
         end)) as found
  from (select *
          from leasehold_job
         where phase = 1 and queue = :queue and (owner is null or (:takeover and lease_until <= :now))
         order by priority, seq
         limit :limit + 0) as job;

-- name: claim    :seqs :owner :now :floor
-- C2. The write lock is held since before the candidates were read.
update leasehold_job
   set phase = 2,
       owner = :owner,
       lease_until = :now + lease_ms,
       generation = max(generation, :floor) + 1,
       raised_by = 'claim',
       attempt = attempt + 1,
       expired_count = expired_count + (owner is not null),
       run_at = null,
       resource_generation = null,
       claimed_at = :now
 where seq in (select value from json_each(:seqs)) and phase = 1;

-- name: hold resource for    :seq :generation
update leasehold_job set resource_generation = :generation where seq = :seq;

-- name: wait for resource    :seq
update leasehold_job set phase = 3 where seq = :seq;

-- name: let next have resource    :resource
-- One at a time, in order: the others would only be sent back to wait.
update leasehold_job
   set phase = 1
 where seq = (select seq from leasehold_job where phase = 3 and resource = :resource order by priority, seq limit 1);

-- name: job in line    :resource :queue :priority
-- Whether a job of that resource stands in the queue's line, before where one of :priority would. When it is claimed and
-- ends, the resource is given to the first that waits.
select 1 as found
  from leasehold_job
 where resource = :resource and queue = :queue and priority <= :priority and phase = 1 and resource is not null
 limit 1;

-- name: resource in line    :resource :queues
-- Whether one stands in the line of one of these queues, whose claimer will come to it.
select 1 as found
  from json_each(:queues) e
 cross join leasehold_queue q on q.name = e.value and q.paused = 0
 cross join leasehold_job j on j.resource = :resource and j.queue = q.id and j.phase = 1 and j.resource is not null
 limit 1;

-- name: next waited-for resource    :after
-- One step along the resources that somebody waits for, without walking over everybody who waits.
select resource from leasehold_job where phase = 3 and resource > :after order by resource limit 1;
