-- Exactly one consumer: what it finds and what it writes are one step. A signed
-- token has no key before. What came of a token is a second answer.
-- KEYS: token. ARGV: a signed token's expiry in microseconds or nothing, how
-- long the key outlives the token in milliseconds.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local token = redis.call('HMGET', KEYS[1], 'expires_us', 'consumed', 'result')
local expires = tonumber(token[1] or ARGV[1])
if not expires then
  return {'unknown'}
elseif token[2] then
  return {'consumed', token[3]}
elseif expires <= now then
  return {'expired'}
end
redis.call('HSET', KEYS[1], 'expires_us', string.format('%.0f', expires), 'consumed', '1')
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.ceil((expires - now) / 1000) + ARGV[2]))
return {'first'}
