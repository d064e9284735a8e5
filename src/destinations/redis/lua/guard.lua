local failed -- apart, since Redis's pcall makes a text of a table
local is_made, answer = pcall(function()
  local given = {}
  for at = 7, #KEYS do
    given[at - 6] = KEYS[at]
  end
  local arguments = {}
  for at = 8, #ARGV do
    arguments[at - 7] = ARGV[at]
  end
  local result = body(watched, given, arguments)
  failed = type(result) == 'table' and type(result.err) == 'string' and result or nil
  return failed == nil and answer_of(result)
end)
