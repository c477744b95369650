-- Marks a live claim as waited for, so that its settlement is notified. It writes
-- only when no caller has marked it before. No row means that it has no live
-- claim.
--
-- The sum keeps the planner from reading all of record_by_fence (see
-- settle_batch.sql).
--
-- $1 digest
-- semel:safe the second run finds awaited set, and writes nothing
WITH clock AS MATERIALIZED (
  SELECT {{now}} AS ms
), live AS MATERIALIZED (
  SELECT r.fence, r.awaited, r.lease_until_ms - clock.ms AS left_ms
  FROM {{schema}}.record r, clock
  WHERE r.digest = $1::bytea
    AND r.state = 'claimed'
    AND r.lease_until_ms > clock.ms
    AND r.expires_ms > clock.ms
), marked AS (
  UPDATE {{schema}}.record r
  SET awaited = true
  FROM live
  WHERE r.digest = $1::bytea
    AND r.fence + 0 = live.fence
    AND r.state = 'claimed'
    AND NOT live.awaited
  RETURNING 1
)
SELECT live.left_ms, live.awaited OR EXISTS (SELECT FROM marked) FROM live
