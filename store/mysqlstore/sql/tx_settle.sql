-- Promise 4: the outcome is written in the transaction that has claimed, where
-- no other transaction sees the row, so a claim does not expire. The row is gone when
-- the server has rolled the transaction back meanwhile.
--
-- ? state  ? kept  ? outcome  ? note  ? retention_ms  ? retention_ms
-- ? fence  ? digest
-- semel:safe the second run finds no row: what is settled is not claimed any more
UPDATE {{record}}
SET state      = ?,
    kept       = ?,
    outcome    = ?,
    note       = COALESCE(?, x''),
    settled_ms = {{now}},
    sweep_ms   = LEAST(sweep_ms, {{now}} + ?),
    expires_ms = {{now}} + ?
WHERE fence = ? AND digest = ? AND state = 'claimed' AND {{open}}
