-- name: find lease    $1 name
select name, owner, lease_until, lease_ms, generation, held_for, last_owner, heals, claimed_at, released_at
  from {schema}.lease where name = $1::text;

-- name: lock lease    $1 name
select name, owner, lease_until, lease_ms, generation, held_for, last_owner, heals, claimed_at, released_at
  from {schema}.lease where name = $1::text for update;

-- name: make lease    $1 lease
-- Nothing is written when somebody was quicker: look again.
insert into {schema}.lease (name, owner, lease_until, lease_ms, generation, held_for, last_owner, heals, claimed_at,
                            released_at)
select g.*
  from jsonb_to_record($1::text::jsonb)
    as g (name text, owner text, lease_until bigint, lease_ms bigint, generation bigint, held_for uuid,
          last_owner text, heals integer, claimed_at bigint, released_at bigint)
    on conflict (name) do nothing
returning 1 as saved;

-- name: save lease    $1 lease
-- A row that this transaction has locked. `claimed_at` null: as it is.
update {schema}.lease l
   set owner = g.owner, lease_until = g.lease_until, lease_ms = g.lease_ms, generation = g.generation,
       held_for = g.held_for, last_owner = g.last_owner, heals = g.heals,
       claimed_at = coalesce(g.claimed_at, l.claimed_at), released_at = g.released_at
  from jsonb_to_record($1::text::jsonb)
    as g (name text, owner text, lease_until bigint, lease_ms bigint, generation bigint, held_for uuid,
          last_owner text, heals integer, claimed_at bigint, released_at bigint)
 where l.name = g.name
returning 1 as saved;

-- name: exclude other users of leases
-- Between its deletion and the floor's raise nobody may make a lease of that name anew.
lock table {schema}.lease in exclusive mode;

-- name: delete lease    $1 name
delete from {schema}.lease where name = $1::text and owner is null;

-- name: prune leases    $1 age ms  $2 limit
-- A lease that is gone leaves its generation in the floor, so that its name never gets it again.
with gone as (
  delete from {schema}.lease
   where name = any (array(select name from {schema}.lease
                            where owner is null and released_at <= (select now from {schema}.moment) - $1::bigint
                            limit $2::integer
                              for update skip locked))
  returning generation
)
update {schema}.store
   set deleted_generation = greatest(deleted_generation, (select max(generation) from gone))
 where exists (select from gone);

-- name: find leases    $1 names
select name, owner, lease_until, lease_ms, generation, held_for, last_owner, heals
  from {schema}.lease where name = any ($1::text[]);
