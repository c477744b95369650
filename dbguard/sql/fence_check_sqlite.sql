-- The fence of a lock. No other transaction writes while this one does.
--
-- ?1 name
SELECT fence FROM {{table}} WHERE name = ?1
