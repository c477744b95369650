-- Promises 1 and 2, the rest of settle.sql: what is known of an unknown
-- outcome, and a retention shorter than the one given with the claim, for
-- which the time to sweep moves too. The caller has compared the values.
--
-- ?1 fence  ?2 digest  ?3 now_ms  ?4 state  ?5 kept  ?6 outcome  ?7 note  ?8 expires_at_ms
-- ?9 now_ms, or 0 within the transaction of the claim, which has no lease
UPDATE {record}
SET state = ?4, kept = ?5, outcome = ?6, note = ?7, settled_at_ms = ?3, expires_at_ms = ?8,
    sweep_at_ms = MIN(sweep_at_ms, ?8)
WHERE fence = ?1 AND digest = ?2 AND state IN ('claimed', 'unknown') AND expires_at_ms > ?9
