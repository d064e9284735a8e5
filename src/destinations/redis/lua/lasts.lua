-- Whether something of a command remains.
local function lasts(command)
  local infos = redis.pcall('COMMAND', 'INFO', command)
  for _, flag in ipairs(infos[1] and infos[1][3] or {}) do
    if flag.ok == 'write' or flag.ok == 'pubsub' then
      return true
    end
  end
  return infos.err ~= nil
end
