-- name: renew    $1 job ids  $2 owners  $3 generations
-- C5, together with the resource that the run holds. lease_until never falls, but for T5's re-basing. Rows that somebody
-- else has locked are skipped and answer `busy`. One that waits for its resource although it has an owner, as its lease
-- had lapsed, comes back into the line. As in `complete plain`, the rows are reached by primary key, one at a time and in the
-- order in which they are given, and written where they were locked: one that has moved just before, as somebody else wrote it, is
-- found `busy`. What is told of them is what was found: to join the updated rows with it again would be planned for a
-- single row, and take each with each. Nearly always all of them are renewed, in time, and nobody wants them cancelled: then no more than
-- that is told.
with moment as materialized (
  select m.*, set_config('synchronous_commit', 'on', true) as durable from {schema}.moment m
), present as materialized (
  select j.*
    from unnest($1::uuid[], $2::text[], $3::bigint[]) as f (job_id, owner, generation)
   cross join lateral (
         select ctid as at, job_id, owner, generation, lease_until, cancel_requested, resource, resource_generation
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
   where j.ctid = any (array(select at from current))
  returning j.job_id
), numbers as (
  select (select count(*) from renewed) as renewed,
         (select count(*)
            from current c
           cross join moment m
           where c.lease_until >= m.now and not c.cancel_requested) as plain
)
select least(n.renewed, n.plain)::integer as plain,
       case when least(n.renewed, n.plain) < cardinality($1)
            then (select coalesce(json_agg(json_build_array(c.job_id, c.owner, c.generation,
                                                            greatest(m.now - c.lease_until, 0), c.cancel_requested)), '[]')
                    from current c
                   cross join moment m) end as found,
       case when n.renewed < cardinality($1)
            then (select coalesce(json_agg(job_id), '[]') from renewed) end as renewed
  from numbers n;

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
