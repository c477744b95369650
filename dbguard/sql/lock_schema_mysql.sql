-- One row for each name that was ever locked. A check of a fence locks the
-- entry of semel_lock_fence for its transaction: a takeover changes it and
-- waits, a renewal changes the row alone.
CREATE TABLE IF NOT EXISTS {{table}} (
  name VARBINARY(200) NOT NULL PRIMARY KEY,
  fence BIGINT NOT NULL,
  owner BINARY(16) NOT NULL,
  lease_until_us BIGINT NOT NULL,
  KEY semel_lock_fence (name, fence)
) ENGINE = InnoDB;
