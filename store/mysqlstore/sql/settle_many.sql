-- settle.sql for many claims in one commit, which differ in nothing but the
-- outcome. The rows are found by the primary key; a join would copy the
-- outcomes first.
--
-- ? state  ? kept  ? fence, ? outcome, …  ? note  ? retention_ms  ? retention_ms
-- ? fence, …  ? fence, ? digest, …
-- semel:safe the second run finds no row: what is settled is not claimed any more
UPDATE {{record}}
SET state      = ?,
    kept       = ?,
    outcome    = CASE fence {{cases}} END,
    note       = COALESCE(?, x''),
    settled_ms = {{now}},
    sweep_ms   = LEAST(sweep_ms, {{now}} + ?),
    expires_ms = {{now}} + ?
WHERE fence IN ({{values}}) AND digest = CASE fence {{cases}} END
  AND state = 'claimed' AND expires_ms > {{now}}
