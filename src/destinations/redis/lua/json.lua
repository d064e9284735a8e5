-- An answer as JSON text. Not cjson, which keeps 14 digits of a number and guesses what an empty table is.
local LONGEST_ANSWER = 1048576
local DEEPEST = 100

local function json_number(value)
  if value ~= value or value == math.huge or value == -math.huge then
    error({ err = 'the answer has a number that JSON does not know' })
  end
  if value == math.floor(value) and math.abs(value) <= 9007199254740992 then
    return string.format('%.0f', value + 0)
  end
  return string.format('%.17g', value)
end

-- nil and false are both null, since Redis answers false where there is nothing.
local function json(value, depth)
  local kind = type(value)
  if kind == 'string' then
    return cjson.encode(value)
  elseif kind == 'number' then
    return json_number(value)
  elseif kind == 'nil' or kind == 'boolean' then
    return value and 'true' or 'null'
  elseif kind ~= 'table' or depth > DEEPEST then
    error({ err = 'the answer has a ' .. kind .. ' that JSON does not know, or is nested too deep' })
  end
  if type(value.ok) == 'string' then -- how Redis gives a status, such as OK, to a script
    return cjson.encode(value.ok)
  end
  local parts = {}
  if #value > 0 or next(value) == nil then
    for at = 1, #value do
      parts[at] = json(value[at], depth + 1)
    end
    return '[' .. table.concat(parts, ',') .. ']'
  end
  for name, member in pairs(value) do
    parts[#parts + 1] = cjson.encode(tostring(name)) .. ':' .. json(member, depth + 1)
  end
  return '{' .. table.concat(parts, ',') .. '}'
end

local function answer_of(value)
  local text = json(value, 0)
  if #text > LONGEST_ANSWER then
    error({ err = 'the answer has ' .. #text .. ' bytes, and ' .. LONGEST_ANSWER .. ' are allowed' })
  end
  return text
end
