-- Claims the intents of KEYS but the last, which is the counter of fences (promise 1).
-- ARGV, for each intent: rest, ttl and former as in claim_one.lua.
-- Each has its own answer, or its own error.
local call = redis.call
-- include now
local function claim(key, rest, ttl, former)
-- include claim
end
local answers = {}
for i = 1, #KEYS - 1 do
  local ok, answer = pcall(claim, KEYS[i], ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i])
  if not ok and type(answer) ~= 'table' then answer = { err = 'ERR ' .. answer } end
  answers[i] = answer
end
return answers
