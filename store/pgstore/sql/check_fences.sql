-- Promise 1: the greatest fence of a record, and the value of the sequence,
-- which is read later and so is never less, unless it was set back.
WITH found AS MATERIALIZED (
  SELECT coalesce(max(r.fence), 0) AS fence FROM {{schema}}.record r
)
SELECT found.fence, coalesce((SELECT max(q.last_value) FROM pg_sequences q
                              WHERE q.schemaname = {{schema_name}} AND q.sequencename = 'fence'), 0)
FROM found
