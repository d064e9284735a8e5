-- name: complete    :seqs :now
-- The rows are those that `current` found under the same write lock; a row without an owner is never written.
update leasehold_job
   set phase = 4,
       end_reason = 'completed',
       result = null,
       error = null,
       finished_at = :now,
       cancel_requested = 0,
       settled_owner = owner,
       settled_generation = generation,
       settled_operation = 'complete',
       owner = null,
       lease_until = null,
       resource_generation = null,
       expired_count = 0
 where seq in (select value from json_each(:seqs)) and owner is not null;

-- name: store results    :results
-- :results is an array of [seq, result].
update leasehold_job
   set result = e.value ->> 1
  from json_each(:results) e
 where leasehold_job.seq = e.value ->> 0 and leasehold_job.phase = 4;
