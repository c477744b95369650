-- Only the last owner renews, and not once it has released.
--
-- {{1}} lease in microseconds  {{2}} name  {{3}} owner
UPDATE {{table}} SET lease_until_us = {{now}} + {{1}}
WHERE name = {{2}} AND owner = {{3}} AND lease_until_us > 0
