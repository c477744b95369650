-- Promise 8: the wait for a twin is bounded; what the work waits for is not
-- ours, so the setting is put back by tx_patience_end.sql.
--
-- $1 milliseconds, as lock_timeout takes them
-- semel:safe a setting that ends with the transaction
SELECT set_config('semel.lock_timeout', current_setting('lock_timeout'), true), set_config('lock_timeout', $1, true)
