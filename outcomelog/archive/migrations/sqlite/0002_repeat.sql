-- Schema 2: the repetitions of a key that one process has met, as totals. A key that a process forgets and meets again has another row.
CREATE TABLE IF NOT EXISTS {{repeat}} (
  intent   TEXT    NOT NULL,
  writer   INTEGER NOT NULL,
  first_ms INTEGER NOT NULL,
  last_ms  INTEGER NOT NULL,
  counted  TEXT    NOT NULL,
  PRIMARY KEY (intent, writer, first_ms)
) WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS {{by_last}} ON {{repeat}} (last_ms);
