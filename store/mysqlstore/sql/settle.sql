-- Promises 1 and 2: only the holder of the present fence settles, and only
-- from the state that was seen. A row that matches always changes, so that the
-- count of rows means the same with and without clientFoundRows.
--
-- ? state  ? kept  ? outcome  ? note  ? retention_ms  ? retention_ms
-- ? fence  ? digest  ? state that was seen
-- semel:safe the second run finds no row, or writes the same outcome and later times
UPDATE {{record}}
SET state      = ?,
    kept       = ?,
    outcome    = ?,
    note       = COALESCE(?, x''),
    settled_ms = {{now}},
    sweep_ms   = LEAST(sweep_ms, {{now}} + ?),
    expires_ms = {{now}} + ?
WHERE fence = ? AND digest = ? AND state = ? AND expires_ms > {{now}}
