-- name: find places    :ids
select j.job_id, j.seq, j.phase, j.run_at
  from json_each(:ids) e
  cross join leasehold_job j on j.job_id = e.value;

-- name: find follower    :name :unique_key
select job_id
  from leasehold_job
 where name = :name and unique_key = :unique_key and unique_key is not null and phase = -2;

-- name: wait for    :job :after :on_failure
insert into leasehold_dependency (after, job, on_failure) values (:after, :job, :on_failure);

-- name: watch    :seq
-- From now on its end is more than its own affair.
update leasehold_job set tail = coalesce(tail, 0) where seq = :seq;

-- name: block    :seq :by
-- A row that was written as blocked, by how many is known only now.
update leasehold_job
   set blocked_by = :by, phase = case when :by > 0 then -1 when run_at is null then 1 else 0 end
 where seq = :seq and phase = -1;

-- name: waiting behind    :seq :all :limit
-- Those whom the end of a job frees or fails; with :all also those who would wait for its retry.
select job, on_failure
  from leasehold_dependency
 where after = :seq and (on_failure <> 'wait' or :all)
 order by job
 limit :limit + 0;

-- name: drop dependency    :after :job
delete from leasehold_dependency where after = :after and job = :job;

-- name: drop dependencies of    :job
delete from leasehold_dependency where job = :job;

-- name: free    :seq
-- The delay that it was enqueued with may have passed meanwhile, or not.
update leasehold_job
   set blocked_by = blocked_by - 1,
       phase = case when blocked_by > 1 then phase when run_at is null then 1 else 0 end
 where seq = :seq and phase < 0;

-- name: note unfreed    :seq :how
insert into leasehold_unfreed (seq, how) values (:seq, :how) on conflict (seq) do update set how = excluded.how;

-- name: unfreed    :limit
select seq, how from leasehold_unfreed order by seq limit :limit + 0;

-- name: drop unfreed    :seq
delete from leasehold_unfreed where seq = :seq;

-- name: tail of    :seq
select tail from leasehold_job where seq = :seq;

-- name: find batch    :name
select b.id, b.name, b.total, b.completed, b.failed, b.cancelled, b.then_job, j.job_id as then_id
  from leasehold_batch b
  left join leasehold_job j on j.seq = b.then_job
 where b.name = :name;

-- name: open batch    :name :now
insert into leasehold_batch (name, touched_at) values (:name, :now)
    on conflict (name) do update set touched_at = excluded.touched_at
returning id;

-- name: count in batch    :id :total :completed :failed :cancelled :now
-- Differences: a retry counts down.
update leasehold_batch
   set total = total + :total, completed = completed + :completed, failed = failed + :failed,
       cancelled = cancelled + :cancelled, touched_at = :now
 where id = :id
returning then_job, completed + failed + cancelled >= total as ended;

-- name: seal batch    :id :then_job
update leasehold_batch set then_job = :then_job where id = :id and then_job is null;

-- name: prune batches    :before :limit
delete from leasehold_batch
 where id in (select id from leasehold_batch
               where touched_at <= :before and completed + failed + cancelled >= total
               order by touched_at
               limit :limit + 0);

-- name: blockers    :job
select p.job_id, p.phase, p.owner, d.on_failure
  from leasehold_dependency d
  cross join leasehold_job p on p.seq = d.after
 where d.job = :job
 order by p.seq
 limit 100;

-- name: batches of    :job_id
-- The batch that it is a member of, and the one whose end it waits for.
select j.seq, (select name from leasehold_batch where id = j.tail) as member_of,
       (select name from leasehold_batch where then_job = j.seq and j.phase < 0) as waits_for
  from leasehold_job j
 where j.job_id = :job_id;
