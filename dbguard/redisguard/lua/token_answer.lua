-- What came of a token that was consumed: the first result stays.
-- KEYS: token. ARGV: result.
if redis.call('HEXISTS', KEYS[1], 'consumed') == 0 then
  return 0
end
redis.call('HSETNX', KEYS[1], 'result', ARGV[1])
return 1
