return { redis.call('HGET', MARKS, ARGV[1]) or '' }
