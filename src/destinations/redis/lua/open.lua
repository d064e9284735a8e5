-- What the guard has to know of the server once: versions, and whether it may evict marks.
local schema = redis.call('HGET', GUARD, 'schema_version')
if not schema then
  schema = '1'
  redis.call('HSET', GUARD, 'schema_version', schema)
end
local memory = redis.pcall('INFO', 'memory')
return { schema, redis.REDIS_VERSION or 'before 7.0', type(memory) == 'table' and '' or memory }
