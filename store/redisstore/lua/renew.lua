#!lua flags=allow-oom
-- Moves lease and expiry of the claim in KEYS[1] (promises 1 and 9); a full server must not end leases.
-- ARGV: 1 fence, 2 lease, 3 what the key outlives the record by. Returns 0, or 1 when the claim was lost.
local call = redis.call
local v = call('GET', KEYS[1])
if not v then return 1 end
-- include now
local fence, at, ttl = struct.unpack('>c8i8i8', v)
if now >= at + ttl or fence ~= ARGV[1] or string.sub(v, 33, 33) ~= 'c' then return 1 end
local lease = now - at + ARGV[2]
local retention = struct.unpack('>i8', v, 43)
call('SET', KEYS[1], string.sub(v, 1, 16) .. struct.pack('>i8', lease + retention) .. string.sub(v, 25, 34)
  .. struct.pack('>i8', lease) .. string.sub(v, 43), 'PX', ARGV[2] + retention + ARGV[3])
return 0
