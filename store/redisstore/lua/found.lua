-- Since Redis 7.2 WAIT waits for what its own connection wrote only. So what another one wrote is written again as it is, the
-- end of the key's life, before a caller hears of it (promise 2).
local ends = call('PEXPIRETIME', key)
if ends > 0 then call('PEXPIREAT', key, ends) end
