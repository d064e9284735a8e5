-- name: server
select current_setting('server_version_num')::integer as version,
       current_setting('server_version') as version_text,
       current_user as role,
       current_setting('fsync') as fsync,
       current_setting('full_page_writes') as full_page_writes,
       current_setting('synchronous_commit') as synchronous_commit,
       current_setting('synchronous_standby_names') as synchronous_standby_names,
       pg_is_in_recovery() as is_standby,
       has_database_privilege(current_database(), 'create') as may_create;

-- name: rights    $1 schema
-- The store reads and writes all its tables; who owns the schema may migrate it. Views are read only.
select pg_has_role(n.nspowner, 'usage') as owns,
       has_schema_privilege(n.oid, 'usage') as may_use,
       (select json_agg(c.relname || ' (' || p.name || ')' order by c.relname, p.name)
          from pg_class c
         cross join unnest(case when c.relkind = 'r' then array['select', 'insert', 'update', 'delete']
                                else array['select'] end) as p (name)
         where c.relnamespace = n.oid and c.relkind in ('r', 'v')
           and not has_table_privilege(c.oid, p.name)) as missing
  from pg_namespace n
 where n.nspname = $1::text;

-- name: store time
select (extract(epoch from clock_timestamp()) * 1000)::bigint as now;

-- name: history
-- What the store remembers of the server beside what it is. Not on a standby, which has no place to write at.
select s.epoch, s.system_id::text as system_id, s.timeline, m.timeline as current_timeline,
       (select system_identifier::text from pg_control_system()) as current_system_id, m.history_changed
  from {schema}.store s, {schema}.moment m;

-- name: standbys
-- Who may not see the others' state gets rows of nulls.
select application_name as name, state, sync_state,
       (extract(epoch from replay_lag) * 1000)::bigint as lag_ms,
       pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint as lag_bytes
  from pg_stat_replication
 where state is distinct from 'backup'
 order by application_name;
