-- The greatest fence with which each resource was written.
CREATE TABLE IF NOT EXISTS {{table}} (
  resource VARBINARY(200) NOT NULL PRIMARY KEY,
  fence BIGINT NOT NULL
) ENGINE = InnoDB;
