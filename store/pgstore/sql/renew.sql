-- Promise 1: only the holder of the present fence moves the lease. The expiry
-- moves along with it, because the record keeps its retention. A longer lease
-- leaves sweep_ms as it is, and so the index.
--
-- $1 digest  $2 fence  $3 lease
-- semel:safe only times move, and the retention between them stays
UPDATE {{schema}}.record r SET
  lease_until_ms = clock.ms + $3::bigint,
  expires_ms     = r.expires_ms - r.lease_until_ms + clock.ms + $3::bigint,
  sweep_ms       = least(r.sweep_ms, greatest(r.expires_ms - r.lease_until_ms + clock.ms + $3::bigint, r.claimed_ms + {{grace}}))
FROM (SELECT {{now}} AS ms) clock
WHERE r.digest = $1::bytea
  AND r.fence = $2::bigint
  AND r.state = 'claimed'
  AND r.expires_ms > clock.ms
