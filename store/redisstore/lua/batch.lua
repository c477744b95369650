-- Claims the intents of the first ARGV[1] keys and settles those of the others but the last, which is the counter of fences
-- (promises 1, 2, 3 and 7).
-- ARGV from 2 on: for each claim rest, ttl and former as in claim_one.lua, for each settlement mark to ttl as in settle_one.lua.
-- Each has its own answer, or its own error.
local call = redis.call
-- include now
local function claim(key, rest, ttl, former)
-- include claim
end
local function settle(key, mark, as, retention, ending, ttl)
-- include settle
end
local answers, at = {}, 2
local function take(step, i, n)
  local ok, answer = pcall(step, KEYS[i], unpack(ARGV, at, at + n - 1))
  if not ok and type(answer) ~= 'table' then answer = { err = 'ERR ' .. answer } end
  answers[i] = answer
  at = at + n
end
local claims = tonumber(ARGV[1])
for i = 1, claims do take(claim, i, 3) end
for i = claims + 1, #KEYS - 1 do take(settle, i, 5) end
return answers
