-- The row of a signed token, which has none before it is first consumed. Not
-- when it has expired: its row may have been swept.
--
-- ? digest  ? expiry in microseconds  ? the same
INSERT INTO {{table}} (digest, expires_us, consumed_us)
SELECT ?, ?, 0 FROM DUAL WHERE ? > {{now}}
ON DUPLICATE KEY UPDATE digest = VALUES(digest)
