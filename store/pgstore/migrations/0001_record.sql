-- Schema 1: one row for each record, found by its digest.
--
-- Only columns that do not change from one claim to its end are indexed, so that
-- Renew, Settle and Release change no index. Half of each page is kept
-- free, and what follows a claim is written into the page of the claim.

CREATE TABLE {{schema}}.record (
  digest         bytea   NOT NULL PRIMARY KEY,
  fence          bigint  NOT NULL,
  state          text    NOT NULL,
  kept           boolean NOT NULL,
  awaited        boolean NOT NULL,
  attempt        integer NOT NULL,
  owner          bytea   NOT NULL,
  fingerprint    bytea   NOT NULL,
  claimed_ms     bigint  NOT NULL,
  settled_ms     bigint  NOT NULL,
  lease_until_ms bigint  NOT NULL,
  expires_ms     bigint  NOT NULL,
  sweep_ms       bigint  NOT NULL,
  scope          text    NOT NULL,
  name           text    NOT NULL,
  note           text    NOT NULL,
  outcome        bytea
) WITH (fillfactor = 50, vacuum_truncate = false);

-- The table is never small: a plan that was made while it was empty, and is
-- kept while it grows, then uses the index. These 128 pages stay (1 MiB).
INSERT INTO {{schema}}.record
SELECT sha256(i::text::bytea), i, 'released', false, false, 1, '', '', 0, 0, 0, 0, 0, '', '', repeat('.', 1700)
FROM generate_series(1, 256) i;
DELETE FROM {{schema}}.record;

-- Promise 1: no fence twice, even when the sequence was set back. List reads
-- it backwards.
CREATE UNIQUE INDEX record_by_fence ON {{schema}}.record (fence);

-- sweep_ms is never later than a record may go.
CREATE INDEX record_by_sweep ON {{schema}}.record (sweep_ms);

-- Promise 1: no connection hoards fences, so that a later claim has a greater one.
CREATE SEQUENCE {{schema}}.fence AS bigint CACHE 1;
