-- name: renew    :seqs :now
-- lease_until never falls, but for T5's re-basing. A lapsed one leaves the claimable rows again.
update leasehold_job
   set phase = 2,
       lease_until = case when lease_until - lease_ms > :now + max(lease_ms / 10, 50) then :now + lease_ms
                          else max(lease_until, :now + lease_ms) end
 where seq in (select value from json_each(:seqs)) and owner is not null;

-- name: renew resources    :seqs :now
update leasehold_lease
   set lease_until = case when lease_until - lease_ms > :now + max(lease_ms / 10, 50) then :now + lease_ms
                          else max(lease_until, :now + lease_ms) end
 where name in (select j.resource from leasehold_job j
                 where j.seq in (select value from json_each(:seqs)) and j.resource is not null);
