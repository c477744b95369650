-- One row for each name that was ever locked. A check of a fence locks the key
-- (name, fence) for its transaction: a takeover changes it and waits, a renewal
-- does not.
CREATE TABLE IF NOT EXISTS {{table}} (
  name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  fence BIGINT NOT NULL,
  owner BYTEA NOT NULL,
  lease_until_us BIGINT NOT NULL,
  UNIQUE (name, fence)
);
