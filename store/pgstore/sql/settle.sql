-- Promises 1 and 2: only the holder of the present fence settles, and only
-- once; what is known of an unknown outcome may be corrected. A waiter is
-- told with the commit.
--
-- Promise 3: a released intent is absent at once. Its row stays, so that the
-- next claim meets it ("Fences" in doc.go).
--
-- $1 digest  $2 fence  $3 state  $4 kept  $5 outcome  $6 note
-- $7 retention, 0 for released
-- semel:safe the second run finds no row: the state, or the outcome that is not certain, is that of the first
UPDATE {{schema}}.record r SET
  state      = $3::text,
  kept       = $4::boolean,
  outcome    = $5::bytea,
  note       = $6::text,
  settled_ms = clock.ms,
  expires_ms = clock.ms + $7::bigint,
  sweep_ms   = CASE WHEN $3::text = 'released' THEN r.sweep_ms
                    ELSE least(r.sweep_ms, greatest(clock.ms + $7::bigint, r.claimed_ms + {{grace}})) END
FROM (SELECT {{now}} AS ms) clock
WHERE r.digest = $1::bytea
  AND r.fence = $2::bigint
  AND r.expires_ms > clock.ms
  AND (r.state = 'claimed'
       OR (r.state = 'unknown' AND ($3::text <> 'unknown' OR r.outcome IS DISTINCT FROM $5::bytea)))
RETURNING CASE WHEN r.awaited THEN {{notify}} END
