-- The fence of a lock, which stays as it is until the transaction ends. All
-- that is read is in the index, so InnoDB locks its entry and not the row: a
-- takeover waits for it, a renewal does not.
--
-- ? name
SELECT fence FROM {{table}} FORCE INDEX (semel_lock_fence) WHERE name = ? LOCK IN SHARE MODE
