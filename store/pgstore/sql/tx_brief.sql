-- Promise 8: statements that share a transaction wait for no lock, and run, no longer than
-- this, nor longer than the connection's own settings say.
--
-- $1 and $2 milliseconds, as lock_timeout and statement_timeout take them
-- semel:safe settings that end with the transaction
SELECT CASE WHEN current_setting('lock_timeout')::interval BETWEEN '1 microsecond' AND make_interval(secs => $1::float8 / 1000)
            THEN '' ELSE set_config('lock_timeout', $1, true) END,
       CASE WHEN current_setting('statement_timeout')::interval BETWEEN '1 microsecond' AND make_interval(secs => $2::float8 / 1000)
            THEN '' ELSE set_config('statement_timeout', $2, true) END
