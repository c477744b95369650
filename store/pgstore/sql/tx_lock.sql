-- Promise 1: one transaction at a time works on an intent. The lock ends with
-- the transaction, or with the savepoint in which it was taken.
--
-- $1 the lock's number
SELECT pg_try_advisory_xact_lock($1)
