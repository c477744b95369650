-- rest: a fresh record from byte 17 on, ttl: its key's time to live, former: the fence to take over, as 8 bytes, or
-- empty, drawn: a drawn fence, for servers without a counter.
-- Answers fence and time when it was won, and the attempt where it was taken over; otherwise the time and the record.
local v = call('GET', key)
local attempt = ''
if v then
  local at, left = struct.unpack('>i8i8', v, 9)
  if now < at + left then
    local state = string.sub(v, 33, 33)
    if former ~= string.sub(v, 1, 8) or state ~= 'u' and not (state == 'c' and now >= at + struct.unpack('>i8', v, 35)) then
      -- include found
      return { now, v }
    end
    attempt = struct.pack('>I4', struct.unpack('>I4', v, 51) + 1)
    rest = string.sub(rest, 1, 17) .. string.sub(v, 34, 34) .. string.sub(rest, 19, 34) .. attempt .. string.sub(rest, 39)
  end
end
-- include fence
local head = struct.pack('>I8i8', fence, now)
call('SET', key, head .. rest, 'PX', ttl)
return head .. attempt
