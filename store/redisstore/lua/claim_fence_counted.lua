-- The counter stays ahead of the clock: fences grow even when a failover or FLUSHALL took it back.
local fence = call('INCR', KEYS[#KEYS])
if fence < us then
  fence = us + 1000
  call('SET', KEYS[#KEYS], string.format('%.0f', fence))
end
