-- Schema 2: the repetitions of a key that one process has met, as totals. A key that a process forgets and meets again has another row.
CREATE TABLE IF NOT EXISTS {{repeat}} (
  intent   VARBINARY(64)   NOT NULL,
  writer   BIGINT          NOT NULL,
  first_ms BIGINT          NOT NULL,
  last_ms  BIGINT          NOT NULL,
  counted  VARBINARY(4096) NOT NULL,
  PRIMARY KEY (intent, writer, first_ms),
  KEY by_last (last_ms)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
