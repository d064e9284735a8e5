-- name: what is there    $1 schema
-- Read from the tables: to_regclass() answers from a cache that is not brought up to date by waiting for a lock.
select current_setting('server_version_num')::integer as server,
       exists (select from pg_namespace where nspname = $1::text) as has_schema,
       exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                where n.nspname = $1::text and c.relname = 'store') as has_store;

-- name: schema version
select schema_version as version, works_with from {schema}.store;

-- name: exclude other migrations    $1 store
-- For this transaction only: a lock of the session would stay with a pooler's connection.
select pg_advisory_xact_lock(hashtextextended($1::text, 0));

-- name: moment
-- Store time (T1) and what the floor is made of.
select now, epoch, epoch_start, floor, history_changed from {schema}.moment;

-- name: exclude other users of jobs
-- Waits for every claim under way; one that waits for this reads the epoch after it.
lock table {schema}.job in exclusive mode;

-- name: raise epoch    $1 epoch
-- This server and timeline are the ones that the epoch belongs to from now on.
update {schema}.store
   set epoch = $1::text::bigint,
       system_id = (select system_identifier from pg_control_system()),
       timeline = (select timeline from {schema}.moment);

-- name: raise deleted generation    $1 generation
update {schema}.store
   set deleted_generation = greatest(deleted_generation, $1::text::bigint)
 where deleted_generation < $1::text::bigint;

-- name: wake    $1 channel  $2 payload
-- Nothing else is written here, so nobody needs to wait for a disk.
select set_config('synchronous_commit', 'off', true), pg_notify($1::text, $2::text);

-- name: server process
select pg_backend_pid() as pid;

-- name: wait for standby
-- C11: what an earlier call has committed can be read although its wait for the synchronous standby was cancelled. The
-- commit of this message waits for all that came before it; it is nothing but a line in the write-ahead log.
select set_config('synchronous_commit', 'on', true), pg_logical_emit_message(true, 'leasehold', '');

-- name: look at connection    $1 process  $2 ours
-- Whether it leads to the process whose number it was told at its start. One of ours that does keeps statements prepared,
-- and their plans: chosen anew for each call they would cost more than what they do, and tests hold the generic ones.
select pg_backend_pid() = $1::integer as direct,
       case when $2::boolean and pg_backend_pid() = $1::integer
            then set_config('plan_cache_mode', 'force_generic_plan', false) end as plans;
