-- Only the last owner releases, as often as it likes. The fence stays: it is
-- never given again. Every release changes the row, or MySQL would not count it.
--
-- ? name  ? owner
-- semel:safe any end of a lease below 1 means released, and the second run makes it another one
UPDATE {{table}} SET lease_until_us = least(lease_until_us, 0) - 1
WHERE name = ? AND owner = ?
