-- The guard's tables, and D2 as functions that any language can call in a transaction of its own.
create schema if not exists {schema};

create table {schema}.guard (
  id integer primary key check (id = 1),
  schema_version integer not null,
  pruned_below text collate "C" not null default ''    -- a job_id; the marks of jobs below it may be gone (D7)
);

create table {schema}.mark (
  line text collate "C" primary key,
  generation bigint not null check (generation between 0 and 9007199254740991),
  owner text collate "C" not null
) with (fillfactor = 70);    -- no index mentions what a raise changes, so that it finds place beside the old row

create table {schema}.answer (
  key text collate "C" primary key,
  request text,
  answer text not null,    -- not json: byte for byte
  made_at timestamptz not null default clock_timestamp()
);

-- D2: whether a token is admitted by a mark. For tables whose rows carry a mark of their own, in the writing statement.
create function {schema}.leasehold_admits(mark_generation bigint, mark_owner text, generation bigint, owner text)
returns boolean language sql immutable as $$
  select mark_generation is null or $3 > mark_generation or ($3 = mark_generation and $4 = mark_owner);
$$;

-- Locks the line's mark until the transaction ends, admits and raises it, or refuses: LH001 for a stale token, with
-- the mark as JSON in the error's detail, LH002 for a line that was pruned. True when the mark was raised.
create function {schema}.leasehold_admit(line text, generation bigint, owner text)
returns boolean language plpgsql as $$
declare
  held {schema}.mark;
begin
  if $1 is null or $2 is null or $3 is null then
    raise exception 'a token has a line, a generation and an owner' using errcode = '22004';
  end if;
  select m.* into held from {schema}.mark m where m.line = $1 for no key update;
  if not found then
    -- A pruning says so before it removes a mark, so whoever misses the mark sees it. A snapshot that is older does not:
    -- to lock the row then fails, as it has changed since (40001).
    if current_setting('transaction_isolation') <> 'read committed' then
      perform 1 from {schema}.guard for share;
    end if;
    if starts_with($1, 'job:') and (select substr($1, 5) collate "C" < g.pruned_below from {schema}.guard g) then
      raise exception '%: refused, its mark was pruned', $1 using errcode = 'LH002';
    end if;
    insert into {schema}.mark (line, generation, owner) values ($1, $2, $3) on conflict do nothing;
    if found then
      return true;
    end if;
    select m.* into strict held from {schema}.mark m where m.line = $1 for no key update;
  end if;
  if not {schema}.leasehold_admits(held.generation, held.owner, $2, $3) then
    raise exception '%: generation % refused, the mark is %', $1, $2, held.generation using
      errcode = 'LH001',
      detail = json_build_object('line', $1, 'generation', held.generation, 'owner', held.owner);
  end if;
  if held.generation = $2 then
    return false;
  end if;
  update {schema}.mark m set generation = $2, owner = $3 where m.line = $1;
  return true;
end;
$$;

insert into {schema}.guard (id, schema_version) values (1, 1);
