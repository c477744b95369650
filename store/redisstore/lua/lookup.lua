-- Returns the time and the record of KEYS[1], or nothing (promises 2 and 9).
local call, key = redis.call, KEYS[1]
local v = call('GET', key)
if not v then return false end
-- include found
-- include now
return { now, v }
