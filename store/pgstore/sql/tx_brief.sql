-- Promise 8: statements that share a transaction wait for no lock longer than this, nor
-- longer than the connection's own setting says.
--
-- $1 milliseconds, as lock_timeout takes them
-- semel:safe a setting that ends with the transaction
SELECT CASE WHEN current_setting('lock_timeout')::interval BETWEEN '1 microsecond' AND make_interval(secs => $1::float8 / 1000)
            THEN '' ELSE set_config('lock_timeout', $1, true) END
