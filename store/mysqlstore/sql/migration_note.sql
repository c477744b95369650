-- A step was taken. Tables cannot be made inside of a transaction, so a step
-- may run again after a crash, and be noted again.
--
-- ? version
INSERT INTO {{migration}} (version, applied_ms) VALUES (?, {{now}})
ON DUPLICATE KEY UPDATE version = VALUES(version)
