-- Parameters by their position: to the drivers a name costs more than all else of such a statement.
-- name: has tables
select 1 as found from sqlite_master where type = 'table' and name = 'leasehold_guard';

-- name: guard
select schema_version, pruned_below from leasehold_guard;

-- name: mark    :line
select generation, owner from leasehold_mark where line = ?;

-- name: raise mark    :line, :generation, :owner
insert into leasehold_mark (line, generation, owner)
values (?, ?, ?)
on conflict (line) do update set generation = excluded.generation, owner = excluded.owner;

-- name: forget mark    :line
delete from leasehold_mark where line = ?;

-- name: answer    :key
select request, answer from leasehold_answer where key = ?;

-- name: keep answer    :key, :request, :answer
insert into leasehold_answer (key, request, answer) values (?, ?, ?);

-- name: reserve key    :key, :request, :answer
-- No change: the effect was made before.
insert into leasehold_answer (key, request, answer) values (?, ?, ?) on conflict (key) do nothing;

-- name: replace answer    :answer, :key
update leasehold_answer set answer = ? where key = ?;

-- name: raise pruned below    :below
update leasehold_guard set pruned_below = max(pruned_below, ?);

-- name: prune marks    :limit
delete from leasehold_mark
 where line in (select line from leasehold_mark
                 where line >= 'job:' and line < 'job:' || (select pruned_below from leasehold_guard)
                 order by line limit ?);

-- name: prune answers    :limit
-- Only while no mark below is left: an owner who is still admitted there would make its effects a second time.
delete from leasehold_answer
 where key in (select key from leasehold_answer
                where key >= 'job:' and key < 'job:' || (select pruned_below from leasehold_guard)
                  and not exists (select 1 from leasehold_mark
                                   where line >= 'job:'
                                     and line < 'job:' || (select pruned_below from leasehold_guard))
                order by key limit ?);
