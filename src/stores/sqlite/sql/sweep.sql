-- name: anything to sweep
-- Without a transaction: lapsed leases, leases that start in the future, jobs that wait for a
-- resource, or such as have ended without all behind them being freed.
select exists (select 1 from leasehold_job
                where phase = 2
                  and (lease_until <= cast(round(unixepoch('subsec') * 1000) as integer)
                       or lease_until - lease_ms > cast(round(unixepoch('subsec') * 1000) as integer) + max(lease_ms / 10, 50)))
    or exists (select 1 from leasehold_job
                where phase in (1, 3) and owner is not null
                  and lease_until - lease_ms > cast(round(unixepoch('subsec') * 1000) as integer) + max(lease_ms / 10, 50))
    or exists (select 1 from leasehold_lease
                where owner is not null
                  and lease_until - lease_ms > cast(round(unixepoch('subsec') * 1000) as integer) + max(lease_ms / 10, 50))
    or exists (select 1 from leasehold_job where phase = 3)
    or exists (select 1 from leasehold_unfreed) as some;

-- name: rebase leases that start in the future    :now
-- T5: the store's clock was set back.
update leasehold_job
   set lease_until = :now + lease_ms
 where phase = 2 and lease_until - lease_ms > :now + max(lease_ms / 10, 50);

-- name: rebase the laid open    :now
-- The same for those that had lapsed by the clock as it was before: they are leased once more.
update leasehold_job
   set lease_until = :now + lease_ms, phase = 2
 where phase in (1, 3) and owner is not null and lease_until - lease_ms > :now + max(lease_ms / 10, 50);

-- name: rebase named leases    :now
update leasehold_lease
   set lease_until = :now + lease_ms
 where owner is not null and lease_until - lease_ms > :now + max(lease_ms / 10, 50);

-- name: lapsed without a future    :now :limit
-- No attempts left (C12) or a pending cancel (C13): these end.
select seq from leasehold_job
 where phase = 2 and lease_until <= :now and (attempt >= max_attempts or cancel_requested = 1)
 limit :limit + 0;

-- name: lay open the lapsed    :now :limit
-- Owner and generation stay, so that the owner still renews until somebody claims (C5). No index on lease_until: the
-- walk over the leased rows is cheaper than its upkeep at every claim and renewal.
update leasehold_job
   set phase = 1
 where seq in (select seq from leasehold_job
                where phase = 2 and lease_until <= :now and attempt < max_attempts and cancel_requested = 0
                limit :limit + 0);
