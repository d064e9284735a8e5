-- D7: marks first; answers only when no mark below is left, as an owner who is still admitted there would make its effects
-- a second time.
local below, limit = ARGV[1], tonumber(ARGV[2])
local held = redis.call('HGET', GUARD, 'pruned_below') or ''
if is_below(held, below) then
  redis.call('HSET', GUARD, 'pruned_below', below)
  held = below
end

local function drop(index, ...)
  local names = redis.call('ZRANGE', index, '[job:', '(job:' .. held, 'BYLEX', 'LIMIT', 0, limit)
  for _, name in ipairs(names) do
    for _, hash in ipairs({ ... }) do
      redis.call('HDEL', hash, name)
    end
    redis.call('ZREM', index, name)
  end
  return #names
end

local marks = drop(LINES, MARKS)
local answers = marks < limit and drop(STEPS, ANSWERS, HALF) or 0
return { marks, answers }
