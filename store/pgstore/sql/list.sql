-- Unexpired records, the greatest fence first: an index read backwards, no
-- further than list_count.sql found.
--
-- $1 fences below  $2 scope or ''  $3 name or ''  $4 the states, or none
-- $5 with outcomes  $6 limit  $7 fences from
WITH clock AS MATERIALIZED (
  SELECT {{now}} AS ms
)
SELECT {{columns_listed}}, false, (SELECT ms FROM clock)
FROM {{schema}}.record r
WHERE r.fence < $1::bigint
  AND r.fence >= $7::bigint
  AND r.expires_ms > (SELECT ms FROM clock)
  AND r.state <> 'released'
  AND ($2::text = '' OR r.scope = $2::text)
  AND ($3::text = '' OR r.name = $3::text)
  AND (cardinality($4::text[]) = 0 OR r.state = ANY ($4::text[]))
ORDER BY r.fence DESC
LIMIT $6::integer
