-- The fence of a lock. Nobody else writes while this transaction does.
--
-- ?1 name
SELECT fence FROM {{table}} WHERE name = ?1
