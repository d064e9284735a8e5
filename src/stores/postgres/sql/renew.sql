-- name: renew    $1 job ids  $2 owners  $3 generations
-- C5, together with the resource that the run holds. lease_until never falls, but for T5's re-basing. Rows that somebody
-- else has locked are skipped and answer `busy`. One that waits for its resource although it has an owner, as its lease
-- had lapsed, comes back into the line. As in `complete plain`, the rows are reached by primary key, one at a time and in the
-- order in which they are given. They are locked from there on, so what is told of them is what was found: to join the
-- updated rows with it again would be planned for a single row, and take each with each.
with moment as materialized (
  select m.*, set_config('synchronous_commit', 'on', true) as durable from {schema}.moment m
), present as materialized (
  select j.*
    from unnest($1::uuid[], $2::text[], $3::bigint[]) as f (job_id, owner, generation)
   cross join lateral (
         select job_id, owner, generation, lease_until, cancel_requested, resource, resource_generation
           from {schema}.job
          where job_id = f.job_id and owner = f.owner and generation = f.generation
            and generation > (select epoch_start from moment)
            for update skip locked) j
), held as materialized (
  select l.name
    from present p
    join {schema}.lease l on l.name = p.resource and l.owner = p.owner and l.generation = p.resource_generation
   where p.resource is not null
   order by l.name
     for update of l skip locked
), renewed_lease as (
  update {schema}.lease l
     set lease_until = case when l.lease_until - l.lease_ms > m.now + greatest(l.lease_ms / 10, 50) then m.now + l.lease_ms
                            else greatest(l.lease_until, m.now + l.lease_ms) end
    from moment m
   where l.name = any (array(select name from held))
), current as materialized (
  select * from present where resource is null or resource in (select name from held)
), renewed as (
  update {schema}.job j
     set lease_until = case when j.lease_until - j.lease_ms > m.now + greatest(j.lease_ms / 10, 50) then m.now + j.lease_ms
                            else greatest(j.lease_until, m.now + j.lease_ms) end,
         ready = true,
         waiting = false
    from moment m
   where j.job_id = any (array(select job_id from current))
)
select c.job_id, c.owner, c.generation, greatest(m.now - c.lease_until, 0) as lapsed, c.cancel_requested
  from current c
 cross join moment m;

-- name: renew leases    $1 names  $2 owners  $3 generations
-- C5 for leases held by name; one that a job holds is renewed with the job only.
with moment as materialized (
  select m.*, set_config('synchronous_commit', 'on', true) as durable from {schema}.moment m
), held as materialized (
  select l.name, l.lease_until
    from unnest($1::text[], $2::text[], $3::bigint[]) as f (name, owner, generation)
    join {schema}.lease l on l.name = f.name and l.owner = f.owner and l.generation = f.generation
   where l.generation > (select epoch_start from moment) and l.held_for is null
   order by l.name
     for update of l skip locked
)
update {schema}.lease l
   set lease_until = case when l.lease_until - l.lease_ms > m.now + greatest(l.lease_ms / 10, 50) then m.now + l.lease_ms
                          else greatest(l.lease_until, m.now + l.lease_ms) end
  from held h
 cross join moment m
 where l.name = h.name
returning l.name, l.owner, l.generation, greatest(m.now - h.lease_until, 0) as lapsed;
