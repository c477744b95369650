-- One row for each token that was minted here or consumed here, by digest: a
-- copy of the table opens nothing.
CREATE TABLE IF NOT EXISTS {{table}} (
  digest BLOB NOT NULL PRIMARY KEY,
  expires_us INTEGER NOT NULL,
  consumed_us INTEGER NOT NULL,
  result BLOB
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS {{index}} ON {{indexed}} (expires_us);
