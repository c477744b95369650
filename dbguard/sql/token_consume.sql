-- Exactly one consumer: the row is changed once. Another waits for the first
-- one's transaction, and finds it changed unless that rolled back.
--
-- {{1}} digest
UPDATE {{table}} SET consumed_us = {{now}}
WHERE digest = {{1}} AND consumed_us = 0 AND expires_us > {{now}}
