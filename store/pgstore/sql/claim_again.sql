-- Promises 1 and 3: a row that is absent to every caller (released, expired), or
-- that the caller may take over, is claimed again if it still has the fence
-- that was seen. A takeover keeps nothing but the number of attempts.
--
-- $1 digest  $2 owner  $3 fingerprint  $4 lease  $5 retention  $6 scope
-- $7 name  $8 the fence seen  $9 to be taken over
-- semel:safe the second run finds no row: the fence that was seen is gone
UPDATE {{schema}}.record r SET
  fence          = nextval({{sequence}}),
  state          = 'claimed',
  kept           = false,
  awaited        = false,
  attempt        = CASE WHEN r.state = 'released' OR r.expires_ms <= clock.ms THEN 1 ELSE r.attempt + 1 END,
  owner          = $2::bytea,
  fingerprint    = $3::bytea,
  claimed_ms     = clock.ms,
  settled_ms     = 0,
  lease_until_ms = clock.ms + $4::bigint,
  expires_ms     = clock.ms + $4::bigint + $5::bigint,
  sweep_ms       = clock.ms + greatest($5::bigint, {{grace}}),
  scope          = $6::text,
  name           = $7::text,
  note           = '',
  outcome        = NULL
FROM (SELECT {{now}} AS ms) clock
WHERE r.digest = $1::bytea
  AND r.fence = $8::bigint
  AND (r.state = 'released'
       OR r.expires_ms <= clock.ms
       OR ($9::boolean AND (r.state = 'unknown' OR (r.state = 'claimed' AND r.lease_until_ms <= clock.ms))))
RETURNING {{columns}}, true, clock.ms
