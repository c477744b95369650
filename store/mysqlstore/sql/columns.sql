-- A record, as it is read.
-- semel:safe a part of a statement; those that it is in are judged
fence, digest, state, kept, attempt, owner, fingerprint,
claimed_ms, settled_ms, lease_until_ms, expires_ms, scope, name, note, {{outcome}}, {{now}}
