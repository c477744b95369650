-- The first half of a sweep step: records that are due but live on (they were
-- renewed, or settled later) get a later time, so that no later step meets
-- them again before it. That of a claim is the earliest at which a renewal from
-- now on can let it expire.
--
-- ?1 now_ms  ?2 limit
-- semel:safe a sweep step: each run corrects further rows
UPDATE {record}
SET sweep_at_ms = IIF(state = 'claimed', MIN(expires_at_ms, expires_at_ms - lease_until_ms + ?1), expires_at_ms)
WHERE expires_at_ms > ?1
  AND fence IN (SELECT fence FROM {record} WHERE sweep_at_ms <= ?1 ORDER BY sweep_at_ms LIMIT ?2)
