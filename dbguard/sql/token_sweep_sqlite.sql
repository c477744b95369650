-- Tokens that expired so long ago. None of them can be consumed, whether it has
-- a row or not.
--
-- ?1 keep in microseconds  ?2 how many at most
-- semel:safe each run removes further tokens, which all have expired
DELETE FROM {{table}} WHERE digest IN (
  SELECT digest FROM {{table}} WHERE expires_us < {{now}} - ?1 ORDER BY expires_us LIMIT ?2
)
