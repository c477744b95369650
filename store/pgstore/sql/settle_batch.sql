-- settle.sql for many digests, each found by the index and then by its place,
-- whatever the planner believes of the table.
--
-- Promise 8: the rows and their settlements are matched by expressions that no
-- index has. Were they columns, a plan that was made while the table was empty
-- could read a whole index in their order, and would be kept.
--
-- $1 digests  $2 fences  $3 states  $4 kept  $5 outcomes  $6 notes  $7 retentions
-- semel:safe the second run finds no row: the state, or the outcome that is not certain, is that of the first
WITH clock AS MATERIALIZED (
  SELECT {{now}} AS ms
), item AS MATERIALIZED (
  SELECT i.*, o.place
  FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::boolean[], $5::bytea[], $6::text[], $7::bigint[])
    AS i(digest, fence, state, kept, outcome, note, retention)
  CROSS JOIN LATERAL (
    SELECT o.{{place}} AS place FROM {{schema}}.record o WHERE o.digest = i.digest LIMIT 1
  ) o
)
UPDATE {{schema}}.record r SET
  state      = i.state,
  kept       = i.kept,
  outcome    = i.outcome,
  note       = i.note,
  settled_ms = clock.ms,
  expires_ms = clock.ms + i.retention,
  sweep_ms   = CASE WHEN i.state = 'released' THEN r.sweep_ms
                    ELSE least(r.sweep_ms, greatest(clock.ms + i.retention, r.claimed_ms + {{grace}})) END
FROM item i, clock
WHERE r.{{place}} = ANY (ARRAY(SELECT item.place FROM item))
  AND r.fence + 0 = i.fence
  AND r.digest || ''::bytea = i.digest
  AND r.expires_ms > clock.ms
  AND (r.state = 'claimed'
       OR (r.state = 'unknown' AND (i.state <> 'unknown' OR r.outcome IS DISTINCT FROM i.outcome)))
RETURNING r.digest, r.fence, CASE WHEN r.awaited THEN {{notify}} END
