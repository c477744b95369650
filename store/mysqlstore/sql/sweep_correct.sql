-- Rows that were due but live on (they were renewed, or settled later) get
-- their true time, so that no later step meets them again before it.
--
-- ? grace_ms  ? fence, …  ? grace_ms
UPDATE {{record}}
SET sweep_ms = GREATEST(expires_ms, claimed_ms + ?)
WHERE fence IN ({{values}}) AND GREATEST(expires_ms, claimed_ms + ?) > {{now}}
