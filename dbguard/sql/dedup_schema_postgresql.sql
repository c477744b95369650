-- The keys that were done, for Dedup: digest is SHA-256 of scope and name,
-- fingerprint that of what was asked. result is NULL until the work has one,
-- and stays NULL in dedup mode. No index on result: its update stays HOT.
CREATE TABLE IF NOT EXISTS {{table}} (
    digest      bytea       NOT NULL PRIMARY KEY CHECK (octet_length(digest) = 32),
    fingerprint bytea       NOT NULL CHECK (octet_length(fingerprint) = 32),
    result      bytea,
    seen_at     timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS {{index}} ON {{indexed}} (seen_at);
