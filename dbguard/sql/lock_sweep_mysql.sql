-- A name that was not locked for so long starts anew, from a fence that is
-- the time, and therefore greater than the one forgotten here.
--
-- ? idle in microseconds  ? the same  ? how many at most
-- semel:safe each run forgets further names that were idle for so long
DELETE FROM {{table}}
WHERE lease_until_us < {{now}} - ? AND fence < {{now}} - ?
LIMIT ?
