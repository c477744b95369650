-- Promise 1: one live claim per digest, decided and written in one statement.
-- A row that is there wins the conflict unless it has expired, or the caller
-- may take it over; a takeover keeps nothing but the number of attempts.
--
-- ?1 fence  ?2 digest  ?3 owner  ?4 fingerprint  ?5 now_ms  ?6 lease_until_ms
-- ?7 expires_at_ms  ?8 sweep_at_ms  ?9 scope  ?10 name  ?11 fence to take over
-- semel:safe the second run meets a live claim with another fence than the one to take over, and writes nothing, so no trigger fires
INSERT INTO {record} (
  fence, digest, state, attempt, owner, fingerprint,
  claimed_at_ms, settled_at_ms, lease_until_ms, expires_at_ms, sweep_at_ms,
  kept, scope, name, note, outcome
) VALUES (?1, ?2, 'claimed', 1, ?3, ?4, ?5, 0, ?6, ?7, ?8, 0, ?9, ?10, '', NULL)
ON CONFLICT (digest) DO UPDATE SET
  fence          = excluded.fence,
  state          = excluded.state,
  attempt        = IIF(expires_at_ms <= excluded.claimed_at_ms, 1, attempt + 1),
  owner          = excluded.owner,
  fingerprint    = excluded.fingerprint,
  claimed_at_ms  = excluded.claimed_at_ms,
  settled_at_ms  = excluded.settled_at_ms,
  lease_until_ms = excluded.lease_until_ms,
  expires_at_ms  = excluded.expires_at_ms,
  sweep_at_ms    = excluded.sweep_at_ms,
  kept           = excluded.kept,
  scope          = excluded.scope,
  name           = excluded.name,
  note           = excluded.note,
  outcome        = excluded.outcome
WHERE expires_at_ms <= excluded.claimed_at_ms
   OR (fence = ?11 AND (state = 'unknown'
                        OR (state = 'claimed' AND lease_until_ms <= excluded.claimed_at_ms)))
