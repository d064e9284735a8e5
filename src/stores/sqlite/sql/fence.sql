-- name: current    :fences :epoch_start
-- The condition of C5 to C8, in one place: which of the fences are their job's current owner, whatever the clock says.
-- A run that holds a resource must hold it still. :fences is an array of [job_id, owner, generation]; the answer is one
-- JSON text, because handing rows over one by one costs more than finding them.
select json_group_array(json_array(e.key, j.seq, j.queue, j.lease_until, j.cancel_requested, j.resource, j.tail)) as found
  from json_each(:fences) e
  cross join leasehold_job j on j.job_id = e.value ->> 0
 where j.owner = e.value ->> 1
   and j.generation = e.value ->> 2
   and j.generation > :epoch_start
   and j.phase in (1, 2, 3)
   and (j.resource is null
        or exists (select 1 from leasehold_lease l
                    where l.name = j.resource and l.owner = j.owner and l.generation = j.resource_generation));

-- name: current and plain    :fences :owner :epoch_start
-- The same condition for those whose end concerns nobody else, of one owner: :fences is an object of generations by job
-- id, whose members SQLite need not parse a second time, and the answer the seqs of all that were found.
select json_group_array(j.seq) as seqs, count(*) as found, min(j.queue) as first_queue, max(j.queue) as last_queue
  from json_each(:fences) e
  cross join leasehold_job j on j.job_id = e.key
 where j.owner = :owner
   and j.generation = e.value
   and j.generation > :epoch_start
   and j.phase in (1, 2, 3)
   and j.resource is null
   and j.tail is null;
