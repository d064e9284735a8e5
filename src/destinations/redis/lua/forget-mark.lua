return redis.call('HDEL', MARKS, ARGV[1])
