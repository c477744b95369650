-- Schema 1: records in the order of their fences, found by digest.
--
-- The fence is the table's own counter, so a claim is appended, and the rows
-- in use lie together at the end however large the table is; only the index
-- of digests is touched at random. InnoDB keeps the counter over restarts
-- (MySQL 8.0, MariaDB 10.2.4): no fence is given twice (promise 1).
--
-- Everything that is compared is a number, or bytes without a collation
-- (promise 5). What was released stays for a while as a row in state
-- 'released', which every verb takes for absent.
--
-- sweep_ms is never later than expires_ms and is set with the claim; settling
-- and renewing leave it alone unless the record expires sooner, and a sweep
-- corrects it. So its index is hardly ever touched but at its end.
CREATE TABLE IF NOT EXISTS {{record}} (
  fence          BIGINT UNSIGNED  NOT NULL AUTO_INCREMENT,
  digest         BINARY(32)       NOT NULL,
  state          VARBINARY(16)    NOT NULL,
  kept           TINYINT UNSIGNED NOT NULL,
  attempt        INT UNSIGNED     NOT NULL,
  owner          BINARY(16)       NOT NULL,
  fingerprint    BINARY(32)       NOT NULL,
  claimed_ms     BIGINT           NOT NULL,
  settled_ms     BIGINT           NOT NULL,
  lease_until_ms BIGINT           NOT NULL,
  expires_ms     BIGINT           NOT NULL,
  sweep_ms       BIGINT           NOT NULL,
  scope          VARBINARY(512)   NOT NULL,
  name           VARBINARY(255)   NOT NULL,
  note           VARBINARY(255)   NOT NULL,
  outcome        LONGBLOB             NULL,
  PRIMARY KEY (fence),
  UNIQUE KEY digest (digest),
  KEY sweep (sweep_ms)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC
