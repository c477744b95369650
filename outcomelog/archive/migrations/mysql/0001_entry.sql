-- Schema 1: one row for each event, the newest with the greatest id. intent holds the first digits of
-- a digest, and made_name the last part of made. The first row of each batch has the batch's number, so that no batch is written twice.
CREATE TABLE IF NOT EXISTS {{table}} (
  id        BIGINT          NOT NULL AUTO_INCREMENT PRIMARY KEY,
  batch     BIGINT              NULL,
  at_ms     BIGINT          NOT NULL,
  door      VARBINARY(16)   NOT NULL,
  outcome   VARBINARY(32)   NOT NULL,
  intent    VARBINARY(16)   NOT NULL,
  intent_rest VARBINARY(48) NOT NULL,
  route     VARBINARY(255)  NOT NULL,
  rule      VARBINARY(255)  NOT NULL,
  fields    VARBINARY(1024) NOT NULL,
  status    INT             NOT NULL,
  made      VARBINARY(255)  NOT NULL,
  made_name VARBINARY(255)  NOT NULL,
  KEY by_intent (intent, id),
  KEY by_made (made_name, id),
  UNIQUE KEY by_batch (batch)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
