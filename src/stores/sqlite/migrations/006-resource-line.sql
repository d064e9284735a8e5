-- works with: 1
-- Which resources have a job in the line of a queue: asked for new and due jobs that share one. Jobs without a resource are
-- not in it.
create index leasehold_job_in_line on leasehold_job (resource, queue, priority) where phase = 1 and resource is not null;
