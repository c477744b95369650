-- Only the last owner releases, as often as it likes. The fence stays.
-- KEYS: lock. ARGV: owner.
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'lease_until_us', '0')
return 1
