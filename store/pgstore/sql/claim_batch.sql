-- claim.sql for many digests, inserted in their order.
--
-- $1 digests  $2 owners  $3 fingerprints  $4 leases  $5 retentions  $6 scopes
-- $7 names
-- semel:safe the digest refuses the second row; a fence that is drawn for nothing is left out
WITH clock AS MATERIALIZED (
  SELECT {{now}} AS ms
)
INSERT INTO {{schema}}.record AS r (
  digest, fence, state, kept, awaited, attempt, owner, fingerprint,
  claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note
)
SELECT i.digest, nextval({{sequence}}), 'claimed', false, false, 1, i.owner, i.fingerprint,
       i.ms, 0, i.ms + i.lease, i.ms + i.lease + i.retention,
       i.ms + greatest(i.retention, {{grace}}), i.scope, i.name, ''
FROM (
  SELECT i.*, (SELECT ms FROM clock) AS ms
  FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[], $6::text[], $7::text[])
    AS i(digest, owner, fingerprint, lease, retention, scope, name)
  ORDER BY i.digest
) i
ON CONFLICT (digest) DO NOTHING
RETURNING r.digest, r.fence, r.claimed_ms,
  CASE WHEN clock_timestamp() - statement_timestamp() < {{patience}} THEN true ELSE r.fence / 0 > 0 END
