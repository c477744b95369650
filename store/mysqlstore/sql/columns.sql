-- A record, as it is read.
fence, digest, state, kept, attempt, owner, fingerprint,
claimed_ms, settled_ms, lease_until_ms, expires_ms, scope, name, note, {{outcome}}, {{now}}
