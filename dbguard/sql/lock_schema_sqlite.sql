-- One row for each name that was ever locked.
CREATE TABLE IF NOT EXISTS {{table}} (
  name TEXT NOT NULL PRIMARY KEY,
  fence INTEGER NOT NULL,
  owner BLOB NOT NULL,
  lease_until_us INTEGER NOT NULL
) WITHOUT ROWID;
