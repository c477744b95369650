-- The row of a digest, whether it is a record still or not, and the time
-- (promise 9).
--
-- $1 digest
SELECT {{columns}}, false, clock.ms
FROM {{schema}}.record r, (SELECT {{now}} AS ms) clock
WHERE r.digest = $1::bytea
