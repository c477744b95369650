-- Promise 1: a claim by a row that commits with the rows of the work, for
-- transactions whose snapshot is older than the lock, for drivers that send one
-- statement at a time, and for servers without such locks. The index sees what
-- the snapshot does not. No row means that there is a twin or a record.
--
-- Should the row be committed without its outcome, it is a claim that has
-- lapsed (promise 3). For fence / 0 see claim.sql.
--
-- $1 digest  $2 owner  $3 fingerprint  $4 retention  $5 scope  $6 name
-- $7 the lock's number
INSERT INTO {{schema}}.record AS r (
  digest, fence, state, kept, awaited, attempt, owner, fingerprint,
  claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note
)
SELECT $1::bytea, nextval({{sequence}}), 'claimed', false, false, 1, $2::bytea, $3::bytea,
       clock.ms, 0, clock.ms, clock.ms + $4::bigint, clock.ms + greatest($4::bigint, {{grace}}), $5::text, $6::text, ''
FROM (SELECT {{now}} AS ms) clock
WHERE pg_try_advisory_xact_lock($7::bigint)
ON CONFLICT (digest) DO NOTHING
RETURNING r.fence, r.claimed_ms,
  CASE WHEN clock_timestamp() - statement_timestamp() < {{patience}} THEN true ELSE r.fence / 0 > 0 END
