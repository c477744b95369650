-- Puts back what tx_patience.sql changed.
-- semel:safe a setting that ends with the transaction
SELECT set_config('lock_timeout', current_setting('semel.lock_timeout'), true)
