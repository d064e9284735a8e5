-- The guard's tables, in the file that holds the data.
create table leasehold_guard (
  id integer primary key check (id = 1),
  schema_version integer not null,
  pruned_below text not null default ''    -- a job_id; the marks of jobs below it may be gone (D7)
) strict;

create table leasehold_mark (
  line text primary key,
  generation integer not null,
  owner text not null
) strict, without rowid;

create table leasehold_answer (
  key text primary key,
  request text,
  answer text not null,    -- byte for byte
  made_at integer not null default (unixepoch())
) strict;

insert into leasehold_guard (id, schema_version) values (1, 1);
