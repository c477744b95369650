-- Promise 8: what has expired goes, the earliest first; what is due but lives
-- on (it was renewed, or settled late) gets its true time, so that no later
-- step meets it again before that. Rows that others hold are left to them.
--
-- A row stays {{grace}} ms after its claim whatever happened to it ("Fences" in
-- doc.go): sweep_ms is never earlier.
--
-- $1 how many to look at  $2 how many to remove at most
-- semel:safe a sweep step: each run takes further rows, of which none counts any more
WITH clock AS MATERIALIZED (
  SELECT {{now}} AS ms
), due AS MATERIALIZED (
  SELECT r.{{place}} AS place, r.expires_ms <= (SELECT ms FROM clock) OR r.state = 'released' AS over
  FROM {{schema}}.record r
  WHERE r.sweep_ms <= (SELECT ms FROM clock)
  ORDER BY r.sweep_ms
  LIMIT $1::integer
  FOR UPDATE OF r SKIP LOCKED
), corrected AS (
  UPDATE {{schema}}.record r
  SET sweep_ms = greatest(r.expires_ms, r.claimed_ms + {{grace}})
  WHERE r.{{place}} = ANY (ARRAY(SELECT due.place FROM due WHERE NOT due.over))
), removed AS (
  DELETE FROM {{schema}}.record r
  WHERE r.{{place}} = ANY (ARRAY(SELECT due.place FROM due WHERE due.over LIMIT $2::integer))
  RETURNING 1
)
SELECT (SELECT count(*) FROM due), (SELECT count(*) FROM removed)
