-- name: note    :line :kind :at :owner :generation :message
insert into leasehold_journal (line, kind, at, owner, generation, message)
values (:line, :kind, :at, :owner, :generation, :message);

-- name: note refusal    :line :at :owner :generation :current :operation
-- The same refusal again is counted, not repeated: what a stuck worker does over and over stays one line.
insert into leasehold_journal (line, kind, at, owner, generation, current, operation)
values (:line, 'refused', :at, :owner, :generation, :current, :operation)
    on conflict (line, generation, owner, operation) where kind = 'refused'
    do update set count = count + 1, current = excluded.current;

-- name: journal    :line
select kind, at, owner, generation, current, operation, message, count
  from leasehold_journal where line = :line order by id;

-- name: trim journal    :line :keep
delete from leasehold_journal
 where line = :line
   and id <= (select id from leasehold_journal where line = :line order by id desc limit 1 offset :keep + 0);

-- name: drop journal    :line
delete from leasehold_journal where line = :line;
