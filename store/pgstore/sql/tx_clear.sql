-- Promise 2: what has expired or was released is absent. Its row makes room
-- for that of the transaction, which has a greater fence.
--
-- $1 digest
DELETE FROM {{schema}}.record r
USING (SELECT {{now}} AS ms) clock
WHERE r.digest = $1
  AND (r.state = 'released' OR r.expires_ms <= clock.ms)
