-- name: note    $1 entries
insert into {schema}.journal (line, kind, at, owner, generation, message)
select g.line, g.kind, g.at, g.owner, g.generation, g.message
  from jsonb_to_recordset($1::text::jsonb)
    as g (n integer, line text, kind text, at bigint, owner text, generation bigint, message text)
 order by g.n;

-- name: note refusals    $1 entries
-- The same refusal again is counted, not repeated: what a stuck worker does over and over stays one line.
insert into {schema}.journal (line, kind, at, owner, generation, current, operation)
select g.line, 'refused', m.now, g.owner, g.generation, g.current, g.operation
  from (select now from {schema}.moment) m
 cross join jsonb_to_recordset($1::text::jsonb)
         as g (line text, owner text, generation bigint, current bigint, operation text)
 order by g.line, g.generation
    on conflict (line, generation, owner, operation) where kind = 'refused'
    do update set count = journal.count + 1, current = excluded.current;

-- name: journal    $1 line
select kind, at, owner, generation, current, operation, message, count
  from {schema}.journal where line = $1::text order by id;

-- name: trim journal    $1 line  $2 keep
delete from {schema}.journal
 where line = $1::text
   and id <= (select id from {schema}.journal where line = $1::text order by id desc limit 1 offset $2::text::bigint);

-- name: drop journal    $1 line
delete from {schema}.journal where line = $1::text;
