-- Messages that were not acknowledged yet. part is the partition, or minus the number of
-- the hold that keeps the message back; seq is the order within a part.
CREATE TABLE IF NOT EXISTS {{table}} (
  id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  seq         BIGINT GENERATED ALWAYS AS IDENTITY,
  part        BIGINT NOT NULL,
  added_ms    BIGINT NOT NULL,
  topic       TEXT NOT NULL,
  message_key TEXT COLLATE "C" NOT NULL,
  header      TEXT NOT NULL,
  body        BYTEA NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

CREATE INDEX IF NOT EXISTS {{index}} ON {{table}} (part, seq);

-- One row for each key, or message without one, that is held back: an even number for a key, an
-- odd one for a message.
CREATE TABLE IF NOT EXISTS {{hold}} (
  hold        BIGINT NOT NULL PRIMARY KEY,
  part        BIGINT NOT NULL,
  message_key TEXT COLLATE "C" NOT NULL,
  state       TEXT NOT NULL,
  attempts    BIGINT NOT NULL,
  since_ms    BIGINT NOT NULL,
  next_ms     BIGINT NOT NULL,
  error       TEXT NOT NULL,
  operator    TEXT NOT NULL,
  reason      TEXT NOT NULL
);

-- The schema, the epoch of each partition's owner, the number of operators' verdicts, and the
-- identity of the tables, a random number that their first relay adds.
CREATE TABLE IF NOT EXISTS {{meta}} (
  name  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  value BIGINT NOT NULL
);

INSERT INTO {{meta}} (name, value) VALUES ('schema', 1), ('verdicts', 0),
  ('epoch-0', 0), ('epoch-1', 0), ('epoch-2', 0), ('epoch-3', 0), ('epoch-4', 0), ('epoch-5', 0), ('epoch-6', 0), ('epoch-7', 0),
  ('epoch-8', 0), ('epoch-9', 0), ('epoch-10', 0), ('epoch-11', 0), ('epoch-12', 0), ('epoch-13', 0), ('epoch-14', 0), ('epoch-15', 0)
ON CONFLICT DO NOTHING;
