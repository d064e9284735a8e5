-- name: find step    :seq :run :step
select * from leasehold_step where seq = :seq and run = :run and step = :step;

-- name: save step    :seq :run :step …
insert into leasehold_step (seq, run, step, state, owner, generation, attempt, begun_at, ended_at, result, error)
values (:seq, :run, :step, :state, :owner, :generation, :attempt, :begun_at, :ended_at, :result, :error)
    on conflict (seq, run, step)
    do update set state = excluded.state, owner = excluded.owner, generation = excluded.generation,
                  attempt = excluded.attempt, begun_at = excluded.begun_at, ended_at = excluded.ended_at,
                  result = excluded.result, error = excluded.error;

-- name: steps    :job_id :run
-- :run null: the job's present one.
select s.*
  from leasehold_job j
  cross join leasehold_step s on s.seq = j.seq and s.run = coalesce(:run, j.run)
 where j.job_id = :job_id
 order by coalesce(s.begun_at, s.ended_at), s.step;

-- name: count steps    :seqs
select e.value as seq, (select count(*) from leasehold_step s where s.seq = e.value) as steps
  from json_each(:seqs) e
 order by e.key;

-- name: drop steps    :seq
delete from leasehold_step where seq = :seq;
