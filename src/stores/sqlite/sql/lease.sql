-- name: find lease    :name
select name, owner, lease_until, lease_ms, generation, held_for, last_owner, heals, claimed_at, released_at
  from leasehold_lease where name = :name;

-- name: save lease    :name …
insert into leasehold_lease (name, owner, lease_until, lease_ms, generation, held_for, last_owner, heals, claimed_at, released_at)
values (:name, :owner, :lease_until, :lease_ms, :generation, :held_for, :last_owner, :heals, :claimed_at, :released_at)
    on conflict (name) do update
   set owner = excluded.owner, lease_until = excluded.lease_until, lease_ms = excluded.lease_ms,
       generation = excluded.generation, held_for = excluded.held_for, last_owner = excluded.last_owner,
       heals = excluded.heals, claimed_at = excluded.claimed_at, released_at = excluded.released_at;

-- name: renew lease    :name :lease_until
update leasehold_lease set lease_until = :lease_until where name = :name and owner is not null;

-- name: delete lease    :name
delete from leasehold_lease where name = :name and owner is null;

-- name: leases to prune    :released_before :limit
select name, generation from leasehold_lease where owner is null and released_at <= :released_before limit :limit + 0;
