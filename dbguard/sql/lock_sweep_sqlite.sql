-- A name that was not locked for so long starts anew, from a fence that is
-- the time, and therefore greater than the one forgotten here.
--
-- ?1 idle in microseconds  ?2 how many at most
-- semel:safe each run forgets further names that were idle for so long
DELETE FROM {{table}} WHERE name IN (
  SELECT name FROM {{table}}
  WHERE lease_until_us < {{now}} - ?1 AND fence < {{now}} - ?1
  LIMIT ?2
)
