-- Settles the claims in KEYS (promises 1, 2, 3 and 7).
-- ARGV, for each: mark to ttl as in settle_one.lua.
-- Each has its own answer, or its own error.
local call = redis.call
-- include now
local function settle(key, mark, as, retention, ending, ttl)
-- include settle
end
local answers = {}
for i = 1, #KEYS do
  local ok, answer = pcall(settle, KEYS[i], ARGV[5 * i - 4], ARGV[5 * i - 3], ARGV[5 * i - 2], ARGV[5 * i - 1], ARGV[5 * i])
  if not ok and type(answer) ~= 'table' then answer = { err = 'ERR ' .. answer } end
  answers[i] = answer
end
return answers
