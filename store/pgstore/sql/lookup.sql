-- One record by its digest, and the time (promise 9). No row means absent.
--
-- $1 digest
SELECT {{columns}}, false, clock.ms
FROM {{schema}}.record r, (SELECT {{now}} AS ms) clock
WHERE r.digest = $1::bytea
  AND r.expires_ms > clock.ms
  AND r.state <> 'released'
