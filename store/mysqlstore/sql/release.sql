-- Promise 3: a released intent is absent at once; only the holder of the
-- present fence can say that nothing happened. The row stays until no statement can
-- still be about to insert an older fence for the digest (promise 1).
--
-- ? grace_ms  ? grace_ms  ? fence, …  ? fence, ? digest, …
UPDATE {{record}}
SET state      = 'released',
    kept       = 0,
    outcome    = NULL,
    note       = x'',
    settled_ms = {{now}},
    sweep_ms   = LEAST(sweep_ms, claimed_ms + ?),
    expires_ms = claimed_ms + ?
WHERE fence IN ({{values}}) AND digest = CASE fence {{cases}} END
  AND state IN ('claimed', 'unknown') AND expires_ms > {{now}}
