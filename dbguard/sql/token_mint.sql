-- A token that can be consumed until it expires.
--
-- {{1}} digest  {{2}} lifetime in microseconds
INSERT INTO {{table}} (digest, expires_us, consumed_us) VALUES ({{1}}, {{now}} + {{2}}, 0)
