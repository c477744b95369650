-- Promise 3: when a transaction began, which tells it from a later one that its work
-- begins by SQL (tx_finish.sql).
SELECT transaction_timestamp()
