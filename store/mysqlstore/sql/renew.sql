-- Promise 1: only the holder of the present fence moves the lease. The expiry
-- moves along with it, because the record keeps its retention.
--
-- ? lease_ms  ? lease_ms  ? lease_ms  ? fence  ? digest
-- semel:safe only times move, and the retention between them stays
UPDATE {{record}}
SET sweep_ms       = LEAST(sweep_ms, expires_ms - lease_until_ms + {{now}} + ?),
    expires_ms     = expires_ms - lease_until_ms + {{now}} + ?,
    lease_until_ms = {{now}} + ?
WHERE fence = ? AND digest = ? AND state = 'claimed' AND expires_ms > {{now}}
