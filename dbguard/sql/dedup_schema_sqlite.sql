-- The keys that were done, for Dedup: digest is SHA-256 of scope and name,
-- fingerprint that of what was asked. result is NULL until the work has one,
-- and stays NULL in dedup mode. seen_at is in seconds since 1970.
CREATE TABLE IF NOT EXISTS {{table}} (
    digest      BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
    result      BLOB,
    seen_at     REAL NOT NULL DEFAULT (unixepoch('subsec'))
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS {{index}} ON {{indexed}} (seen_at);
