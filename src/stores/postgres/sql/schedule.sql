-- name: due schedules    $1 set back ms  $2 limit
-- By two indexes. Those that a clock ahead of the present one has written are few or all, and only after it was set back.
-- A row always comes: with the store's time, and the next slot of those that are not due.
with moment as materialized (
  select now from {schema}.moment
), due as (
  (select name, revision, cron, zone, every_ms, at_most, next_slot, last_slot, covered
     from {schema}.schedule
    where not paused and next_slot is not null and next_slot <= (select now from moment)
    order by next_slot
    limit $2::integer)
  union all
  (select name, revision, cron, zone, every_ms, at_most, next_slot, last_slot, covered
     from {schema}.schedule
    where not paused and set_at > (select now from moment) + $1::bigint
      and (next_slot is null or next_slot > (select now from moment))
    order by set_at desc
    limit $2::integer)
  limit $2::integer
)
select m.now, (select min(s.next_slot) from {schema}.schedule s
                where not s.paused and s.next_slot is not null and s.next_slot > m.now) as later,
       d.*
  from moment m
  left join due d on true;

-- name: lock schedules    $1 firings
-- Whoever was faster has noted another next slot, and what somebody else has locked is being fired just now. The last of
-- the slots must have come by this statement's own time. In the order of their names, as always.
select g.n, s.name, s.template
  from {schema}.schedule s
  join jsonb_to_recordset($1::text::jsonb)
         as g (n integer, name text, revision text, found bigint, due bigint)
    on g.name = s.name
 where s.revision = g.revision and s.next_slot is not distinct from g.found and not s.paused
   and g.due <= (select now from {schema}.moment)
 order by s.name, g.n
   for update of s skip locked;

-- name: note firings    $1 firings
-- Rows that this transaction has locked.
update {schema}.schedule s
   set next_slot = g.next_slot, covered = g.covered, last_slot = g.last_slot, set_at = (select now from {schema}.moment)
  from jsonb_to_recordset($1::text::jsonb) as g (name text, next_slot bigint, covered text, last_slot bigint)
 where s.name = g.name;

-- name: add schedule    $1 schedule
insert into {schema}.schedule (name, revision, version, cron, zone, every_ms, at_most, paused, next_slot, last_slot, covered,
                               template, set_at, created_at, changed_at)
select g.*, m.now, m.now, m.now
  from (select now from {schema}.moment) m
 cross join jsonb_to_record($1::text::jsonb)
         as g (name text, revision text, version bigint, cron text, zone text, every_ms bigint, at_most integer,
               paused boolean, next_slot bigint, last_slot bigint, covered text, template text)
    on conflict (name) do nothing
returning 1 as written;

-- name: replace schedule    $1 schedule  $2 found revision  $3 found next slot
update {schema}.schedule s
   set revision = g.revision, version = g.version, cron = g.cron, zone = g.zone, every_ms = g.every_ms,
       at_most = g.at_most, paused = g.paused, next_slot = g.next_slot, last_slot = g.last_slot, covered = g.covered,
       template = g.template, set_at = m.now, changed_at = m.now
  from (select now from {schema}.moment) m
 cross join jsonb_to_record($1::text::jsonb)
         as g (name text, revision text, version bigint, cron text, zone text, every_ms bigint, at_most integer,
               paused boolean, next_slot bigint, last_slot bigint, covered text, template text)
 where s.name = g.name and s.revision = $2::text and s.next_slot is not distinct from $3::bigint
returning 1 as written;

-- name: remove schedule    $1 name
delete from {schema}.schedule where name = $1::text returning 1 as removed;

-- name: find schedule    $1 name
select m.now, s.* from (select now from {schema}.moment) m left join {schema}.schedule s on s.name = $1::text;

-- name: list schedules    $1 after  $2 limit
select * from {schema}.schedule where name > $1::text order by name limit $2::integer;
