-- Schema 1: one row for each event, the newest with the greatest id. intent holds the first digits of
-- a digest, and made_name the last part of made.
CREATE TABLE IF NOT EXISTS {{table}} (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  batch     INTEGER,
  at_ms     INTEGER NOT NULL,
  door      TEXT    NOT NULL,
  outcome   TEXT    NOT NULL,
  intent    TEXT    NOT NULL,
  intent_rest TEXT NOT NULL,
  route     TEXT    NOT NULL,
  rule      TEXT    NOT NULL,
  fields    TEXT    NOT NULL,
  status    INTEGER NOT NULL,
  made      TEXT    NOT NULL,
  made_name TEXT    NOT NULL
);

CREATE INDEX IF NOT EXISTS {{by_intent}} ON {{table}} (intent, id);

CREATE INDEX IF NOT EXISTS {{by_made}} ON {{table}} (made_name, id) WHERE made_name <> '';

-- The first row of each batch has the batch's number, so that no batch is written twice.
CREATE UNIQUE INDEX IF NOT EXISTS {{by_batch}} ON {{table}} (batch) WHERE batch IS NOT NULL;
