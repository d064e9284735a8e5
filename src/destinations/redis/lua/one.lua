-- One command: nothing comes after it, so there is nothing to take back of it when it fails.
local reply = redis.pcall(unpack(ARGV, 8))
local failed = type(reply) == 'table' and reply.err and { err = reply.err, at = 1 } or nil
local is_made, answer = pcall(answer_of, { reply })

local function take_back()
  return not failed and lasts(ARGV[8]) and ARGV[8] .. ' has written' or nil
end
