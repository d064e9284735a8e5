-- name: moment
-- Store time (T1) and what the floor is made of, read after the write lock was had and once per transaction. Rounded,
-- because the fraction of a second is a double.
select cast(round(unixepoch('subsec') * 1000) as integer) as now, epoch, deleted_generation, schema_version,
       works_with
  from leasehold_store;

-- name: raise epoch    :epoch
update leasehold_store set epoch = :epoch;

-- name: raise deleted generation    :generation
update leasehold_store set deleted_generation = max(deleted_generation, :generation);

-- name: boot
select boot_id from leasehold_store;

-- name: note boot    :boot_id
update leasehold_store set boot_id = :boot_id;
