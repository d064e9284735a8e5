-- D1 to D4: compare, raise, the caller's writes and their answer, in one step. Redis runs it alone, and hands it to the
-- append-only file and to replicas as one transaction.
local line, generation, owner, key, request = unpack(ARGV, 1, 5)

local mark = redis.call('HGET', MARKS, line)
local is_raise = true
if mark then
  -- Doubles, in which generations up to 2^53 - 1 are exact; they are never printed as such, but kept as they came.
  local held, holder = mark:match('^(%d+) (.*)$')
  is_raise = tonumber(generation) > tonumber(held)
  if not is_raise and not (generation == held and owner == holder) then
    return { 'stale', held, holder }
  end
elseif line:sub(1, 4) == 'job:' then
  local below = redis.call('HGET', GUARD, 'pruned_below')
  if below and is_below(line:sub(5), below) then
    return { 'pruned' }
  end
end

local function raise()
  if is_raise then
    redis.call('HSET', MARKS, line, generation .. ' ' .. owner)
  end
end

if key ~= '' then
  local half = redis.call('HGET', HALF, key)
  if half then
    return { 'half', half }
  end
  local kept = redis.call('HGET', ANSWERS, key)
  if kept then
    local at = kept:find('\n', 1, true)
    if kept:sub(1, at - 1) ~= request then
      return { 'mismatch' }
    end
    raise()
    return { 'made', kept:sub(at + 1) }
  end
end

-- The guard's own writes come first: where the server takes none now, the caller's are not begun.
local is_new = not mark and line:sub(1, 4) == 'job:'
local is_indexed = key:sub(1, 4) == 'job:'
if is_new then
  redis.call('ZADD', LINES, 0, line)
end
if is_indexed then
  redis.call('ZADD', STEPS, 0, key)
end
raise()
