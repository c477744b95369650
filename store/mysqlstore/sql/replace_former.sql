-- Promises 1 and 3: a record that is unknown or has lapsed, and is still as
-- it was read, makes room for the claim that takes it over.
--
-- ? fence  ? digest
DELETE FROM {{record}}
WHERE fence = ? AND digest = ? AND expires_ms > {{now}}
  AND (state = 'unknown' OR (state = 'claimed' AND lease_until_ms <= {{now}}))
