-- At most one holder: the lock is given when its lease has ended, by the
-- server's clock. An owner that did not hear its answer gets it again. The fence
-- is the time in microseconds, or more: it fits a number here until 2255.
-- KEYS: lock. ARGV: owner, lease in microseconds, the key's life in milliseconds.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local held = redis.call('HMGET', KEYS[1], 'fence', 'owner', 'lease_until_us')
local fence, mine = tonumber(held[1] or 0), held[2] == ARGV[1]
if not mine then
  if tonumber(held[3] or 0) > now then
    return 0
  end
  fence = math.max(fence + 1, now)
end
redis.call('HSET', KEYS[1], 'fence', string.format('%.0f', fence), 'owner', ARGV[1],
  'lease_until_us', string.format('%.0f', now + ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return fence
