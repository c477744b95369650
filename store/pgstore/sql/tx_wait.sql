-- tx_lock.sql for those who wait.
--
-- $1 the lock's number
SELECT pg_advisory_xact_lock($1)
