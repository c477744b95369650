-- Schema 1: records next to the application's own tables, in the order of their
-- fences and found by digest. Every name begins with semel_.

CREATE TABLE semel_record (
  fence           INTEGER PRIMARY KEY,
  digest          BLOB    NOT NULL,
  state           TEXT    NOT NULL,
  attempt         INTEGER NOT NULL,
  owner           BLOB    NOT NULL,
  fingerprint     BLOB    NOT NULL,
  claimed_at_ms   INTEGER NOT NULL,
  settled_at_ms   INTEGER NOT NULL,
  lease_until_ms  INTEGER NOT NULL,
  expires_at_ms   INTEGER NOT NULL,
  sweep_at_ms     INTEGER NOT NULL,
  kept            INTEGER NOT NULL,
  scope           TEXT    NOT NULL,
  name            TEXT    NOT NULL,
  note            TEXT    NOT NULL,
  outcome         BLOB
) STRICT;

-- Promise 1: one record per digest, compared byte by byte.
CREATE UNIQUE INDEX semel_record_by_digest ON semel_record (digest);

-- sweep_at_ms is never later than expires_at_ms and is set when the record is
-- claimed; settling leaves it alone, and a sweep corrects it.
CREATE INDEX semel_record_by_sweep ON semel_record (sweep_at_ms);

-- One row: the schema of these tables (user_version and application_id belong
-- to the application), the greatest fence of a commit, the number of records,
-- and the latest time the store's clock has shown.
CREATE TABLE semel_meta (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  schema   INTEGER NOT NULL,
  fence    INTEGER NOT NULL,
  count    INTEGER NOT NULL,
  clock_ms INTEGER NOT NULL
) STRICT;

INSERT INTO semel_meta (id, schema, fence, count, clock_ms) VALUES (1, 0, 0, 0, 0);

-- Triggers keep this row in step with the records, whichever program changes
-- them. Promise 1: no fence is given below one that was committed. Promise 9:
-- the clock never runs backwards.
CREATE TRIGGER semel_record_added AFTER INSERT ON semel_record BEGIN
  UPDATE semel_meta SET count = count + 1, fence = MAX(fence, NEW.fence) WHERE id = 1;
END;

CREATE TRIGGER semel_record_changed AFTER UPDATE OF fence, settled_at_ms ON semel_record BEGIN
  UPDATE semel_meta SET fence = MAX(fence, NEW.fence), clock_ms = MAX(clock_ms, NEW.settled_at_ms) WHERE id = 1;
END;

CREATE TRIGGER semel_record_removed AFTER DELETE ON semel_record BEGIN
  UPDATE semel_meta SET count = count - 1 WHERE id = 1;
END;
