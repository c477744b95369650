-- Only the last owner releases, as often as it likes. The fence stays: it is
-- never given again. Every release changes the row, or MySQL would not count it.
--
-- ? name  ? owner
UPDATE {{table}} SET lease_until_us = least(lease_until_us, 0) - 1
WHERE name = ? AND owner = ?
