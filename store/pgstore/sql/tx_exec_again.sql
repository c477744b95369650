-- The statement of tx_exec.sql alone, within a transaction that holds the
-- claim.
WITH answer AS (
{{statement}}
)
SELECT row_to_json(answer)::text FROM answer
