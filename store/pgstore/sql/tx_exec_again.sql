-- The statement of tx_exec.sql by itself, within a transaction that holds the
-- claim.
WITH answer AS (
{{statement}}
)
SELECT row_to_json(answer)::text FROM answer
