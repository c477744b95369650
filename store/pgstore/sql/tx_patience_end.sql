-- Puts back what tx_patience.sql changed.
SELECT set_config('lock_timeout', current_setting('semel.lock_timeout'), true)
