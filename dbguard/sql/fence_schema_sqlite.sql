-- The greatest fence with which each resource was written.
CREATE TABLE IF NOT EXISTS {{table}} (
  resource TEXT NOT NULL PRIMARY KEY,
  fence INTEGER NOT NULL
) WITHOUT ROWID;
