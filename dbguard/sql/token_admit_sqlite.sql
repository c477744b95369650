-- The row of a signed token, which has none before it is first consumed. Not
-- when it has expired: its row may have been swept.
--
-- ?1 digest  ?2 expiry in microseconds
INSERT INTO {{table}} (digest, expires_us, consumed_us)
SELECT ?1, ?2, 0 WHERE ?2 > {{now}}
ON CONFLICT (digest) DO NOTHING
