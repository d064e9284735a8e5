-- The caller's list of commands, each in ARGV as its length and its words. What can be known to fail is found before the
-- first of them runs.
local first, count = {}, 0
do
  local at = 1
  while at <= #ARGV do
    count = count + 1
    first[count] = at + 1
    at = at + 1 + tonumber(ARGV[at])
  end
  first[count + 1] = at + 1
end

local function words(n)
  return unpack(ARGV, first[n], first[n + 1] - 2)
end

-- Where this user may not ask, it is the command itself that shows it.
local function flaw(n)
  local infos = real.pcall('COMMAND', 'INFO', (words(n)))
  if infos.err then
    return
  elseif not infos[1] then
    return 'ERR unknown command'
  end
  local arity, length = infos[1][2], select('#', words(n))
  if (arity > 0 and arity ~= length) or length < -arity then
    return 'ERR wrong number of arguments'
  end
  for _, flag in ipairs(infos[1][3]) do
    if flag.ok == 'noscript' then
      return 'ERR this command is not allowed in a script'
    end
  end
  local found = keys_of(words(n))
  if found.err then
    return found.err
  end
  if not redis.acl_check_cmd(words(n)) then
    return 'NOPERM this user has no permission for the command or one of its keys'
  end
  if is_cluster then
    local own = redis.call('CLUSTER', 'KEYSLOT', MARKS)
    for _, key in ipairs(found) do
      if redis.call('CLUSTER', 'KEYSLOT', key[1]) ~= own then
        return 'CROSSSLOT ' .. key[1] .. ' is in another slot than ' .. MARKS
      end
    end
  end
end

if count > 1 or is_cluster then
  for n = 1, count do
    local err = flaw(n)
    if err then
      return { err = err, at = n }
    end
  end
end

local replies = {}
for n = 1, count do
  is_last = n == count
  local reply = redis.pcall(words(n))
  if type(reply) == 'table' and reply.err then
    return { err = reply.err, at = n }
  end
  replies[n] = reply
end
return replies
