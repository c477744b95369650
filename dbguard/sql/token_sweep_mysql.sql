-- Tokens that expired so long ago. None of them can be consumed, whether it has
-- a row or not.
--
-- ? keep in microseconds  ? how many at most
-- semel:safe each run removes further tokens, which all have expired
DELETE FROM {{table}} WHERE expires_us < {{now}} - ? ORDER BY expires_us LIMIT ?
