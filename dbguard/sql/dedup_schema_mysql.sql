-- The keys that were done, for Dedup: digest is SHA-256 of scope and name,
-- fingerprint that of what was asked, both binary, because a collation would
-- make one key of two. result is NULL until the work has one, and stays NULL
-- in dedup mode. duplicates tells a duplicate from a first: with
-- clientFoundRows, nothing else does in one statement.
CREATE TABLE IF NOT EXISTS {{table}} (
    digest      binary(32)   NOT NULL PRIMARY KEY,
    fingerprint binary(32)   NOT NULL,
    result      mediumblob,
    duplicates  bigint       NOT NULL DEFAULT 0,
    seen_at     timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    INDEX {{index}} (seen_at)
) ENGINE = InnoDB;
