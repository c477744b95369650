-- Tokens that expired so long ago. None of them can be consumed, whether it has
-- a row or not.
--
-- The array is worked out once; a plan could look for what is IN a list again for
-- each row, and its LIMIT would bound nothing.
--
-- $1 keep in microseconds  $2 how many at most
-- semel:safe each run removes further tokens, which all have expired
DELETE FROM {{table}} WHERE digest = ANY (ARRAY(
  SELECT digest FROM {{table}} WHERE expires_us < {{now}} - $1::bigint
  ORDER BY expires_us LIMIT $2::bigint FOR UPDATE SKIP LOCKED
))
