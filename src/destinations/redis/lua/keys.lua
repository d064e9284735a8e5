local GUARD, MARKS, LINES, ANSWERS, STEPS, HALF = unpack(KEYS, 1, 6)
local is_cluster = ARGV[7] == '1'
