-- Redis does not roll a script back. So what a key held is copied before the first write to it, and put back when a
-- later command fails; nobody sees what was between, as a script runs alone.
local real = redis
local most_bytes = tonumber(ARGV[6])
local copies = {}
local lasting -- what was done that cannot be taken back
-- Set by the list of commands: what fails as the last one has written nothing, and only its answer comes after it.
local is_last = false
local last -- the name of the last one, which was made

local function copy_of(name)
  local bytes = real.pcall('MEMORY', 'USAGE', name)
  if not bytes then
    return {}
  elseif type(bytes) == 'number' and bytes > most_bytes then
    return { why = name .. ' is larger than undoBytes' }
  end
  local dump, until_ms = real.pcall('DUMP', name), real.pcall('PEXPIRETIME', name)
  if type(bytes) ~= 'number' or type(dump) ~= 'string' or type(until_ms) ~= 'number' then
    return { why = 'this user may not copy ' .. name }
  end
  return { dump = dump, until_ms = until_ms }
end

-- The keys of a command and how it uses them; or why they are not known.
local function keys_of(...)
  if select('#', ...) == 1 then -- which the server's own answer takes for too few
    return {}
  end
  local found = real.pcall('COMMAND', 'GETKEYSANDFLAGS', ...)
  if found.err and found.err:find('no key arguments', 1, true) then
    return {}
  end
  return found
end

-- The copies of what this command may write, made before it runs; or a reason why it can never be taken back.
local function prepare(...)
  local found = keys_of(...)
  if found.err or (#found == 0 and lasts((...))) then
    return {}, tostring((...)) .. ' cannot be taken back'
  end
  local written = {}
  for _, each in ipairs(found) do
    local name, access = each[1], each[2][1]
    -- XREADGROUP moves its group on, and calls that reading.
    if not access or access.ok ~= 'RO' or (...):upper() == 'XREADGROUP' then
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
    local reply = real.pcall(...)
    last = (type(reply) ~= 'table' or reply.err == nil) and (...) or nil
    return reply
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
  elseif last and lasts(last) then
    return last .. ' has written'
  end
  for _, copy in pairs(copies) do
    if copy.is_stale and copy.why then
      return copy.why
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
