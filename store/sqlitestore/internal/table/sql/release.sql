-- Promise 3: a released intent is absent at once; only the holder of the
-- present fence can say that nothing happened.
--
-- ?1 fence  ?2 digest  ?3 now_ms
DELETE FROM {record}
WHERE fence = ?1 AND digest = ?2 AND state IN ('claimed', 'unknown') AND expires_at_ms > ?3
