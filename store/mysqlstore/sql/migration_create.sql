-- The steps that were taken, one row each.
CREATE TABLE IF NOT EXISTS {{migration}} (
  version    INT UNSIGNED NOT NULL,
  applied_ms BIGINT       NOT NULL,
  PRIMARY KEY (version)
) ENGINE = InnoDB
