-- Promise 1: only the holder of the present fence moves the lease. The expiry
-- moves along with it, because the record keeps its retention.
--
-- ?1 fence  ?2 digest  ?3 now_ms  ?4 lease_until_ms
-- semel:safe only times move, and the retention between them stays
UPDATE {record}
SET lease_until_ms = ?4,
    expires_at_ms  = expires_at_ms - lease_until_ms + ?4
WHERE fence = ?1 AND digest = ?2 AND state = 'claimed' AND expires_at_ms > ?3
