-- A drawn fence that came late must not follow a greater one: refused with what the next one must exceed.
local fence = tonumber(drawn)
local floor = v and struct.unpack('>I8', v) or 0
if fence <= floor or fence < us - @stale@ then
  if us > floor then floor = us end
  return struct.pack('>I8', floor)
end
