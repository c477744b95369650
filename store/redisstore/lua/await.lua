#!lua flags=allow-oom
-- Marks the claim in KEYS[1] as waited for, so that its settlement is published, and returns how long it is held; -1
-- without a live claim.
local call = redis.call
local v = call('GET', KEYS[1])
if not v then return -1 end
-- include now
local at, ttl = struct.unpack('>i8i8', v, 9)
if now >= at + ttl or string.sub(v, 33, 33) ~= 'c' then return -1 end
local left = at + struct.unpack('>i8', v, 35) - now
if left <= 0 then return -1 end
if string.sub(v, 34, 34) ~= 'w' then call('SETRANGE', KEYS[1], 33, 'w') end
return left
