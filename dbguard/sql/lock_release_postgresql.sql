-- Only the last owner releases, as often as it likes. The fence stays: it is
-- never given again.
--
-- $1 name  $2 owner
-- semel:safe any end of a lease below 1 means released, and the second run makes it another one
UPDATE {{table}} SET lease_until_us = least(lease_until_us, 0) - 1
WHERE name = $1 AND owner = $2
