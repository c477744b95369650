-- Messages that were not acknowledged yet. part is the partition, or minus the number of
-- the hold that keeps the message back; seq is the order within a part.
CREATE TABLE IF NOT EXISTS {{table}} (
  seq         BIGINT          NOT NULL AUTO_INCREMENT PRIMARY KEY,
  id          VARBINARY(255)  NOT NULL CHECK (id <> ''),
  part        BIGINT          NOT NULL,
  added_ms    BIGINT          NOT NULL,
  topic       VARBINARY(1024) NOT NULL,
  message_key VARBINARY(255)  NOT NULL,
  header      MEDIUMBLOB      NOT NULL,
  body        LONGBLOB        NOT NULL,
  UNIQUE KEY semel_id (id),
  KEY semel_part (part, seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- One row for each key, or message without one, that is held back: an even number for a key, an
-- odd one for a message.
CREATE TABLE IF NOT EXISTS {{hold}} (
  hold        BIGINT         NOT NULL PRIMARY KEY,
  part        BIGINT         NOT NULL,
  message_key VARBINARY(255) NOT NULL,
  state       VARBINARY(16)  NOT NULL,
  attempts    BIGINT         NOT NULL,
  since_ms    BIGINT         NOT NULL,
  next_ms     BIGINT         NOT NULL,
  error       BLOB           NOT NULL,
  operator    VARBINARY(255) NOT NULL,
  reason      VARBINARY(255) NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- The schema, the epoch of each partition's owner, the number of operators' verdicts, and the
-- identity of the tables, a random number that their first relay adds.
CREATE TABLE IF NOT EXISTS {{meta}} (
  name  VARBINARY(64) NOT NULL PRIMARY KEY,
  value BIGINT        NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

INSERT IGNORE INTO {{meta}} (name, value) VALUES ('schema', 1), ('verdicts', 0),
  ('epoch-0', 0), ('epoch-1', 0), ('epoch-2', 0), ('epoch-3', 0), ('epoch-4', 0), ('epoch-5', 0), ('epoch-6', 0), ('epoch-7', 0),
  ('epoch-8', 0), ('epoch-9', 0), ('epoch-10', 0), ('epoch-11', 0), ('epoch-12', 0), ('epoch-13', 0), ('epoch-14', 0), ('epoch-15', 0);
