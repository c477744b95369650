-- find.sql for many digests, each found by the index whatever the planner
-- believes of the table.
--
-- $1 digests
WITH clock AS MATERIALIZED (
  SELECT {{now}} AS ms
)
SELECT {{columns}}, false, clock.ms
FROM clock, unnest($1::bytea[]) AS i(digest)
CROSS JOIN LATERAL (SELECT o.* FROM {{schema}}.record o WHERE o.digest = i.digest LIMIT 1) r
