-- Settles the claim in KEYS[1] (promises 1, 2, 3 and 7).
-- ARGV: as in settle_one.lua, from mark on.
local call = redis.call
-- include now
local key, mark, as, retention, ending, ttl = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
-- include settle
