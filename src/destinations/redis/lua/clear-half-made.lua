redis.call('ZREM', STEPS, ARGV[1])
return redis.call('HDEL', HALF, ARGV[1])
