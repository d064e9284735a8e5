-- name: due schedules    :now :set_back :limit
-- By two indexes. Those that a clock ahead of the present one has written are few or all, and only after it was set back.
select name, revision, cron, zone, every_ms, at_most, next_slot, last_slot, covered
  from (select * from leasehold_schedule
         where paused = 0 and next_slot is not null and next_slot <= :now
         order by next_slot
         limit :limit + 0)
union all
select name, revision, cron, zone, every_ms, at_most, next_slot, last_slot, covered
  from (select * from leasehold_schedule
         where paused = 0 and set_at > :now + :set_back and (next_slot is null or next_slot > :now)
         order by set_at desc
         limit :limit + 0)
 limit :limit + 0;

-- name: next slot    :now
select min(next_slot) as next_slot
  from leasehold_schedule
 where paused = 0 and next_slot is not null and next_slot > :now;

-- name: fire schedule    :name :revision :found …
-- Whoever was faster has noted another next slot. The last of the slots must have come by this transaction's own time.
update leasehold_schedule
   set next_slot = :next_slot, covered = :covered, last_slot = :last_slot, set_at = :now
 where name = :name and revision = :revision and next_slot is :found and paused = 0 and :due <= :now
returning template;

-- name: add schedule    :name …
insert into leasehold_schedule (name, revision, version, cron, zone, every_ms, at_most, paused, next_slot, set_at,
                                last_slot, covered, template, created_at, changed_at)
values (:name, :revision, :version, :cron, :zone, :every_ms, :at_most, :paused, :next_slot, :now, :last_slot, :covered,
        :template, :now, :now)
    on conflict (name) do nothing;

-- name: replace schedule    :name :found_revision :found …
update leasehold_schedule
   set revision = :revision, version = :version, cron = :cron, zone = :zone, every_ms = :every_ms, at_most = :at_most,
       paused = :paused, next_slot = :next_slot, set_at = :now, last_slot = :last_slot, covered = :covered,
       template = :template, changed_at = :now
 where name = :name and revision = :found_revision and next_slot is :found;

-- name: remove schedule    :name
delete from leasehold_schedule where name = :name;

-- name: find schedule    :name
select * from leasehold_schedule where name = :name;

-- name: list schedules    :after :limit
select * from leasehold_schedule where name > :after order by name limit :limit + 0;
