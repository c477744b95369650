-- Promise 4: the outcome, in the row of tx_first.sql, or of a claim that was committed
-- before; its waiters wake with the commit. Without that row there is an error, so that
-- nothing is committed. Work that has ended the transaction and begun another one, all by
-- SQL, may have committed its rows without the outcome: then there is another error.
--
-- $1 digest  $2 fence  $3 state  $4 kept  $5 outcome  $6 note  $7 retention
-- $8 when the transaction began, or NULL for no matter
-- semel:safe the second run finds no claim, and fails
WITH done AS (
  UPDATE {{schema}}.record r SET
    state      = $3::text,
    kept       = $4::boolean,
    outcome    = $5::bytea,
    note       = $6::text,
    settled_ms = clock.ms,
    expires_ms = clock.ms + $7::bigint,
    sweep_ms   = least(r.sweep_ms, greatest(clock.ms + $7::bigint, r.claimed_ms + {{grace}}))
  FROM (SELECT CASE WHEN transaction_timestamp() <> $8::timestamptz THEN sqrt(-1 - {{now}})::bigint ELSE {{now}} END AS ms) clock
  WHERE r.digest = $1::bytea
    AND r.fence = $2::bigint
    AND r.state = 'claimed'
  RETURNING CASE WHEN r.awaited THEN ({{notify}})::text END AS told
)
SELECT 1 / (count(*) + 0 * count(told)) FROM done
