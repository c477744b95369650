-- Claims the intent of KEYS[1] (promise 1); KEYS[2] is the counter of fences where there is one.
-- ARGV: as in claim_one.lua, from rest on.
local call = redis.call
-- include now
local key, rest, ttl, former, drawn = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
-- include claim
