-- Promises 1 and 2: only the holder of the present fence settles, and only
-- once. The row is found by its fence, no index is touched. A row whose
-- sweep_at_ms would be too late is left to settle_sooner.sql.
--
-- ?1 fence  ?2 digest  ?3 now_ms  ?4 state  ?5 kept  ?6 outcome  ?7 note  ?8 expires_at_ms
-- ?9 now_ms, or 0 within the transaction of the claim, which has no lease
UPDATE {record}
SET state = ?4, kept = ?5, outcome = ?6, note = ?7, settled_at_ms = ?3, expires_at_ms = ?8
WHERE fence = ?1 AND digest = ?2 AND state = 'claimed' AND expires_at_ms > ?9 AND sweep_at_ms <= ?8
