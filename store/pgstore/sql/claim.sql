-- Promise 1: one live claim for each digest, decided and written by the unique
-- index. A row that is there is neither locked nor written; no answer means
-- that it is there.
--
-- fence / 0 ends a statement that stalled between its fence and its row
-- ("Fences" in doc.go); RETURNING is worked out after the row is in the index.
--
-- $1 digest  $2 owner  $3 fingerprint  $4 lease  $5 retention  $6 scope  $7 name
INSERT INTO {{schema}}.record AS r (
  digest, fence, state, kept, awaited, attempt, owner, fingerprint,
  claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note
)
SELECT $1::bytea, nextval({{sequence}}), 'claimed', false, false, 1, $2::bytea, $3::bytea,
       clock.ms, 0, clock.ms + $4::bigint, clock.ms + $4::bigint + $5::bigint,
       clock.ms + greatest($5::bigint, {{grace}}), $6::text, $7::text, ''
FROM (SELECT {{now}} AS ms) clock
ON CONFLICT (digest) DO NOTHING
RETURNING r.fence, r.claimed_ms,
  CASE WHEN clock_timestamp() - statement_timestamp() < {{patience}} THEN true ELSE r.fence / 0 > 0 END
