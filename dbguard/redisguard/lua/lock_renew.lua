-- Only the last owner renews, and not once it has released.
-- KEYS: lock. ARGV: owner, lease in microseconds, the key's life in milliseconds.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local held = redis.call('HMGET', KEYS[1], 'owner', 'lease_until_us')
if held[1] ~= ARGV[1] or tonumber(held[2]) <= 0 then
  return 0
end
redis.call('HSET', KEYS[1], 'lease_until_us', string.format('%.0f', now + ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
