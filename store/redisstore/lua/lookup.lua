#!lua flags=no-writes
-- Returns the time and the record of KEYS[1], or nothing (promises 2 and 9).
local v = redis.call('GET', KEYS[1])
if not v then return false end
-- include now
return { now, v }
