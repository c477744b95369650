-- One row for each token that was minted here or consumed here, by digest: a
-- copy of the table opens nothing.
CREATE TABLE IF NOT EXISTS {{table}} (
  digest BYTEA NOT NULL PRIMARY KEY,
  expires_us BIGINT NOT NULL,
  consumed_us BIGINT NOT NULL,
  result BYTEA
);
CREATE INDEX IF NOT EXISTS {{index}} ON {{indexed}} (expires_us);
