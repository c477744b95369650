-- The fence of a lock that this owner has.
--
-- {{1}} name  {{2}} owner
SELECT fence FROM {{table}} WHERE name = {{1}} AND owner = {{2}}
