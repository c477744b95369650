-- mark: the fence, as: new state and '-' (r: released), retention, ending: note and outcome, ttl: the key's time to live.
-- Answers 0, 1 when the claim was lost, 2 when it was settled otherwise.
local v = call('GET', key)
local absent = as == 'r-' and 0 or 1
if not v then return absent end
local fence, at, left = struct.unpack('>c8i8i8', v)
if now >= at + left then return absent end
if fence ~= mark then return 1 end
local state = string.sub(v, 33, 34)
local body
if state == 'c-' or state == 'cw' then
  body = string.sub(v, 35)
else
  local scope, name = struct.unpack('>I2I2', v, 103)
  local cut = 107 + scope + name
  local outcome = string.sub(v, cut + 2 + struct.unpack('>I2', v, cut))
  if state == as and outcome == string.sub(ending, 3 + struct.unpack('>I2', ending)) then
    -- include found
    return 0
  end
  if state ~= 'u-' then return 2 end
  body = string.sub(v, 35, cut - 1)
end
if as == 'r-' then
  -- include forget
else
  local ago = now - at
  call('SET', key, string.sub(v, 1, 16) .. struct.pack('>i8i8', ago + retention, ago) .. as .. body .. ending, 'PX', ttl)
end
if state == 'cw' then redis.pcall('PUBLISH', '@channel@', key) end
return 0
