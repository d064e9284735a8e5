-- works with: 1
-- Which resources have a job in the line of a queue, leased or not: asked for new and due jobs that share one. Jobs without
-- a resource are not in it. No column of it is changed by a claim or a renewal.
create index job_in_line on {schema}.job (resource, queue, priority) where ready and resource is not null;
