-- Schema 1: records in the order of their fences, found by digest.
--
-- A record is appended when it is claimed and found again by its fence when
-- it is renewed or settled, so the pages in use are the newest ones however
-- large the table is. Only records_by_digest is touched at random.

CREATE TABLE records (
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
CREATE UNIQUE INDEX records_by_digest ON records (digest);

-- sweep_at_ms is never later than expires_at_ms and is set when the record is
-- claimed; settling leaves it alone, and a sweep corrects it.
CREATE INDEX records_by_sweep ON records (sweep_at_ms);

-- The one row that every commit carries along: the greatest fence ever given,
-- the number of records, and the latest time the store's clock has shown.
CREATE TABLE meta (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  fence    INTEGER NOT NULL,
  count    INTEGER NOT NULL,
  clock_ms INTEGER NOT NULL
) STRICT;

INSERT INTO meta (id, fence, count, clock_ms) VALUES (1, 0, 0, 0);
