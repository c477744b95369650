-- Promise 1: a fence for an intent that left no row. It is a statement of its
-- own behind the lock, because only then it sees what the lock's last holder
-- has committed. When the transaction began tells it from a later one
-- (tx_record.sql).
--
-- $1 digest
-- semel:safe a fence that is drawn for nothing is left out
SELECT nextval({{sequence}}), {{now}}, transaction_timestamp()
WHERE NOT EXISTS (SELECT FROM {{schema}}.record r WHERE r.digest = $1)
