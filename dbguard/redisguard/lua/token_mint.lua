-- A token that can be consumed until it expires, by the server's clock. The key
-- outlives it, so that what expired and what was consumed can be told.
-- KEYS: token. ARGV: lifetime in microseconds, the key's life in milliseconds.
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'expires_us', string.format('%.0f', time[1] * 1000000 + time[2] + ARGV[1]))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
