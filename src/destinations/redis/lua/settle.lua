-- What becomes of mark, effect and answer: kept together, or taken back together, or told as half made.
if is_made and not failed then
  if key ~= '' then
    redis.call('HSET', ANSWERS, key, request .. '\n' .. answer)
  end
  return { 'made', answer }
end

local reason = failed and failed.err or tostring(type(answer) == 'table' and answer.err or answer)
local at = tostring(failed and failed.at or '')
local left = take_back()
if left then
  if key ~= '' then
    redis.call('HSET', HALF, key, reason .. ' (' .. left .. ')')
  end
  return { 'broken', reason, at, left }
end
if mark then
  redis.call('HSET', MARKS, line, mark)
else
  redis.call('HDEL', MARKS, line)
end
if is_new then
  redis.call('ZREM', LINES, line)
end
if is_indexed then
  redis.call('ZREM', STEPS, key)
end
return { 'failed', reason, at }
