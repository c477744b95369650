-- Messages that were not acknowledged yet. part is the partition, or minus the number of
-- the hold that keeps the message back; seq is the order within a part.
CREATE TABLE IF NOT EXISTS {{table}} (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  id          TEXT    NOT NULL UNIQUE,
  part        INTEGER NOT NULL,
  added_ms    INTEGER NOT NULL,
  topic       TEXT    NOT NULL,
  message_key TEXT    NOT NULL,
  header      TEXT    NOT NULL,
  body        BLOB    NOT NULL
);

CREATE INDEX IF NOT EXISTS {{index}} ON {{table}} (part);

-- One row for each key, or message without one, that is held back: an even number for a key, an
-- odd one for a message.
CREATE TABLE IF NOT EXISTS {{hold}} (
  hold        INTEGER PRIMARY KEY,
  part        INTEGER NOT NULL,
  message_key TEXT    NOT NULL,
  state       TEXT    NOT NULL,
  attempts    INTEGER NOT NULL,
  since_ms    INTEGER NOT NULL,
  next_ms     INTEGER NOT NULL,
  error       TEXT    NOT NULL,
  operator    TEXT    NOT NULL,
  reason      TEXT    NOT NULL
);

-- The schema, the epoch of each partition's owner, the number of operators' verdicts, and the
-- identity of the tables, a random number that their first relay adds.
CREATE TABLE IF NOT EXISTS {{meta}} (
  name  TEXT    NOT NULL PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO {{meta}} (name, value) VALUES ('schema', 1), ('verdicts', 0),
  ('epoch-0', 0), ('epoch-1', 0), ('epoch-2', 0), ('epoch-3', 0), ('epoch-4', 0), ('epoch-5', 0), ('epoch-6', 0), ('epoch-7', 0),
  ('epoch-8', 0), ('epoch-9', 0), ('epoch-10', 0), ('epoch-11', 0), ('epoch-12', 0), ('epoch-13', 0), ('epoch-14', 0), ('epoch-15', 0)
ON CONFLICT DO NOTHING;
