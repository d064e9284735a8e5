-- name: open batches    $1 names
insert into {schema}.batch (name, touched_at)
select g.name, m.now
  from jsonb_array_elements_text($1::text::jsonb) g (name)
 cross join (select now from {schema}.moment) m
 where not exists (select from {schema}.batch b where b.name = g.name)
 order by g.name collate "C"
    on conflict (name) do nothing;

-- name: join batches    $1 names
-- Until this transaction ends nobody seals them; others may join and count meanwhile.
select id, name, then_id::text as then_id
  from {schema}.batch
 where name = any (array(select jsonb_array_elements_text($1::text::jsonb)))
 order by name
   for key share;

-- name: close batches    $1 names
-- Waits for all who are joining.
select id, name, then_id::text as then_id
  from {schema}.batch
 where name = any (array(select jsonb_array_elements_text($1::text::jsonb)))
 order by name
   for update;

-- name: seal batch    $1 id  $2 then
update {schema}.batch set then_id = $2::text::uuid where id = $1::text::bigint and then_id is null;

-- name: count in batches    $1 counts
-- Differences: a retry counts down.
insert into {schema}.batch_line (batch, total, completed, failed, cancelled)
select g.batch, g.total, g.completed, g.failed, g.cancelled
  from jsonb_to_recordset($1::text::jsonb)
    as g (batch bigint, total bigint, completed bigint, failed bigint, cancelled bigint);

-- name: lock counted batches    $1 limit
-- Those that somebody else is folding are left to them, and to the next sweep. What is folded is read by a later
-- statement: one that began before the lock was had might not see the lines of who joined before the batch was sealed.
select id
  from {schema}.batch
 where id = any (array(select distinct l.batch from (select batch from {schema}.batch_line order by id limit (select $1::integer)) l))
 order by id
   for no key update skip locked;

-- name: fold batches    $1 ids
-- Lines of a batch that was pruned go with the next one's.
with gone as (
  delete from {schema}.batch_line where batch = any ($1::bigint[]) returning batch, total, completed, failed, cancelled
), sum as materialized (
  select batch, sum(total)::bigint as total, sum(completed)::bigint as completed, sum(failed)::bigint as failed,
         sum(cancelled)::bigint as cancelled
    from gone group by batch
)
update {schema}.batch b
   set total = b.total + s.total, completed = b.completed + s.completed, failed = b.failed + s.failed,
       cancelled = b.cancelled + s.cancelled, touched_at = (select now from {schema}.moment)
  from sum s
 where b.id = s.batch and b.id = any ($1::bigint[])
returning b.then_id, b.completed + b.failed + b.cancelled >= b.total as ended;

-- name: drop lines of no batch
delete from {schema}.batch_line
 where id = any (array(select id from {schema}.batch_line l
                        where not exists (select from {schema}.batch b where b.id = l.batch)
                        order by id limit 1000));

-- name: let run    $1 job ids
-- At the end of their batches, once.
update {schema}.job
   set blocked_by = null, ready = run_at is null
 where job_id = any (array(select unnest($1::uuid[]))) and blocked_by is not null;

-- name: find batch    $1 name
select b.name, b.then_id as "thenId",
       (b.total + coalesce(l.total, 0))::bigint as total, (b.completed + coalesce(l.completed, 0))::bigint as completed,
       (b.failed + coalesce(l.failed, 0))::bigint as failed,
       (b.cancelled + coalesce(l.cancelled, 0))::bigint as cancelled
  from {schema}.batch b
 cross join lateral (select sum(total) as total, sum(completed) as completed, sum(failed) as failed,
                            sum(cancelled) as cancelled
                       from {schema}.batch_line where batch = b.id) l
 where b.name = $1::text;

-- name: batches of    $1 job id
-- The batch that it is a member of, and the one whose end it waits for.
select (select name from {schema}.batch where id = r.tail) as member_of,
       (select name from {schema}.batch where then_id = r.job_id and r.is_blocked) as waits_for
  from (select job_id, tail, blocked_by is not null as is_blocked from {schema}.job where job_id = $1::text::uuid
        union all
        select job_id, tail, false from {schema}.history where job_id = $1::text::uuid) r;

-- name: prune batches    $1 age ms  $2 limit
delete from {schema}.batch
 where id = any (array(select b.id
                         from {schema}.batch b
                        where b.touched_at <= (select now from {schema}.moment) - $1::bigint
                          and b.completed + b.failed + b.cancelled >= b.total
                          and not exists (select from {schema}.batch_line l where l.batch = b.id)
                        order by b.touched_at
                        limit (select $2::integer)
                          for update skip locked));
