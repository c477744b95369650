-- Schema 2: the repetitions of a key that one process has met, as totals. A key that a process forgets and meets again has another row.
CREATE TABLE IF NOT EXISTS {{repeat}} (
  intent   TEXT   COLLATE "C" NOT NULL,
  writer   BIGINT NOT NULL,
  first_ms BIGINT NOT NULL,
  last_ms  BIGINT NOT NULL,
  counted  TEXT   NOT NULL,
  PRIMARY KEY (intent, writer, first_ms)
);

CREATE INDEX IF NOT EXISTS {{by_last}} ON {{repeat}} (last_ms);
