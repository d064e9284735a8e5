-- Redis does not roll a script back. So what a key held is copied before the first write to it, and put back when a
-- later command fails; nobody sees what was between, as a script runs alone.
local real = redis
local most_bytes = tonumber(ARGV[7])
local copies = {}
local lasting -- what was done that cannot be taken back
-- Set by the list of commands: what fails as the last one has written nothing, and nothing comes after it.
local is_last = false

local function copy_of(name)
  local bytes = real.call('MEMORY', 'USAGE', name)
  if not bytes then
    return {}
  elseif bytes > most_bytes then
    return { is_big = true }
  end
  return { dump = real.call('DUMP', name), until_ms = real.call('PEXPIRETIME', name) }
end

local function has_flag(command, wanted)
  local info = real.call('COMMAND', 'INFO', command)[1]
  for _, flag in ipairs(info and info[3] or {}) do
    if flag.ok == wanted then
      return true
    end
  end
  return false
end

-- The copies of what this command may write, made before it runs; or a reason why it can never be taken back.
local function prepare(...)
  local found = real.pcall('COMMAND', 'GETKEYSANDFLAGS', ...)
  if found.err then
    local command = tostring((...))
    local is_harmless = found.err:find('no key arguments', 1, true)
      and not has_flag(command, 'write')
      and not has_flag(command, 'pubsub')
    return {}, not is_harmless and command .. ' cannot be taken back' or nil
  end
  local written = {}
  for _, each in ipairs(found) do
    local name, access = each[1], each[2][1]
    if not access or access.ok ~= 'RO' then
      copies[name] = copies[name] or copy_of(name)
      written[#written + 1] = copies[name]
    end
  end
  return written
end

local function attempt(...)
  if tostring((...)):upper() == 'SELECT' then
    return { err = 'ERR SELECT would lead the guard to another database' }
  end
  if is_last then
    return real.pcall(...)
  end
  local written, never = prepare(...)
  local reply = real.pcall(...)
  if type(reply) ~= 'table' or reply.err == nil then
    lasting = lasting or never
    for _, copy in ipairs(written) do
      copy.is_stale = true
    end
  end
  return reply
end

-- What the caller's Lua finds as `redis`.
local watched = setmetatable({
  pcall = attempt,
  call = function(...)
    local reply = attempt(...)
    if type(reply) == 'table' and reply.err ~= nil then
      error(reply)
    end
    return reply
  end,
}, { __index = real })

-- Answers nothing when all is as it was, else what is not.
local function take_back()
  if lasting then
    return lasting
  end
  for name, copy in pairs(copies) do
    if copy.is_stale and copy.is_big then
      return name .. ' is larger than undoBytes'
    end
  end
  for name, copy in pairs(copies) do
    if copy.is_stale then
      local reply
      if copy.dump then
        local at = math.max(copy.until_ms, 0)
        reply = real.pcall('RESTORE', name, string.format('%.0f', at), copy.dump, 'REPLACE', 'ABSTTL')
      else
        reply = real.pcall('DEL', name)
      end
      if type(reply) == 'table' and reply.err then
        return name .. ': ' .. reply.err
      end
    end
  end
end
