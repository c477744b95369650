-- A name that was not locked for so long starts anew, from a fence that is
-- the time, and therefore greater than the one forgotten here.
--
-- The array is worked out once; a plan could look for what is IN a list again for
-- each row, and its LIMIT would bound nothing.
--
-- $1 idle in microseconds  $2 how many at most
-- semel:safe each run forgets further names that were idle for so long
DELETE FROM {{table}} WHERE name = ANY (ARRAY(
  SELECT name FROM {{table}}
  WHERE lease_until_us < {{now}} - $1::bigint AND fence < {{now}} - $1::bigint
  LIMIT $2::bigint FOR UPDATE SKIP LOCKED
))
