-- The greatest fence with which each resource was written.
CREATE TABLE IF NOT EXISTS {{table}} (
  resource TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  fence BIGINT NOT NULL
);
