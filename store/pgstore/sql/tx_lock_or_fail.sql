-- tx_lock.sql, but with an error in the place of false, so that the statements
-- behind it in the same round trip do not run. The text is for the server's
-- log; a twin is not a fault.
--
-- $1 the lock's number
SELECT (CASE WHEN pg_try_advisory_xact_lock($1) THEN 't' ELSE 'semel: a twin works on this intent, which is no fault' END)::boolean
