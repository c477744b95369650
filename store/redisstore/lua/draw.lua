#!lua flags=allow-oom
-- Draws ARGV[1] fences above ARGV[2] from the counter KEYS[1] of a cluster, and returns the first (promise 1).
local call = redis.call
-- include now
local last = tonumber(call('GET', KEYS[1]) or 0)
if us > last then last = us end
if tonumber(ARGV[2]) > last then last = tonumber(ARGV[2]) end
call('SET', KEYS[1], string.format('%.0f', last + ARGV[1]))
return last + 1
