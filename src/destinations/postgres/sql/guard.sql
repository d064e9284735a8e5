-- name: admit    $1 line, $2 generation, $3 owner
select {schema}.leasehold_admit($1::text, $2::bigint, $3::text) as raised;

-- name: admit in    $1 line, $2 generation, $3 owner
-- In the caller's transaction, whose durability is the caller's.
select {schema}.leasehold_admit($1::text, $2::bigint, $3::text) as raised,
       pg_current_xact_id()::text as id;

-- name: is still the transaction    $1 its id
select coalesce(pg_current_xact_id_if_assigned()::text = $1::text, false) as same;

-- name: answer    $1 key
select request, answer from {schema}.answer where key = $1::text;

-- name: keep answer    $1 key, $2 request, $3 answer
-- Sent with the commit. 23505: another line's owner has made the same effect meanwhile, and nothing of this one is kept.
insert into {schema}.answer (key, request, answer) values ($1::text, $2::text, $3::text);

-- name: reserve key    $1 key, $2 request, $3 answer
-- Waits for another transaction that has the key. No row: its effect was made before.
insert into {schema}.answer (key, request, answer)
values ($1::text, $2::text, $3::text)
on conflict (key) do nothing
returning true as reserved;

-- name: replace answer    $1 key, $2 answer, $3 the transaction's id
-- Once that one is over, repeats may have been answered. The id is asked for in a subquery: once, before anything is written.
update {schema}.answer set answer = $2::text
 where key = $1::text and (select pg_current_xact_id_if_assigned())::text = $3::text
returning true as kept;

-- name: mark    $1 line
select generation::text as generation, owner from {schema}.mark where line = $1::text;

-- name: forget mark    $1 line
delete from {schema}.mark where line = $1::text;

-- name: raise pruned below    $1 job_id
update {schema}.guard set pruned_below = greatest(pruned_below, $1::text) returning pruned_below;

-- name: prune marks    $1 limit
with gone as (
  delete from {schema}.mark
   where line in (select m.line from {schema}.mark m, {schema}.guard g
                   where m.line >= 'job:' and m.line < 'job:' || g.pruned_below
                   order by m.line limit $1::bigint)
  returning 1
)
select count(*)::int as pruned from gone;

-- name: prune answers    $1 limit
-- Only while no mark below is left: an owner who is still admitted there would make its effects a second time.
with gone as (
  delete from {schema}.answer
   where key in (select a.key from {schema}.answer a, {schema}.guard g
                  where a.key >= 'job:' and a.key < 'job:' || g.pruned_below
                    and not exists (select 1 from {schema}.mark m
                                     where m.line >= 'job:' and m.line < 'job:' || g.pruned_below)
                  order by a.key limit $1::bigint)
  returning 1
)
select count(*)::int as pruned from gone;

-- name: version
select schema_version from {schema}.guard;
