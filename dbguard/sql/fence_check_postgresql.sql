-- The fence of a lock, which stays as it is until the transaction ends: a
-- takeover waits for it, a renewal does not.
--
-- $1 name
SELECT fence FROM {{table}} WHERE name = $1 FOR KEY SHARE
