-- One row of claim.sql. There are modes of MariaDB in which an empty string is
-- NULL, but x'' is not.
--
-- ? digest  ? attempt  ? owner  ? fingerprint  ? lease_ms  ? lease_ms and retention_ms
-- ? retention_ms  ? scope  ? name
-- semel:safe a part of a statement; those that it is in are judged
(?, 'claimed', 0, ?, ?, ?, {{now}}, 0, {{now}} + ?, {{now}} + ?, {{now}} + ?, COALESCE(?, x''), COALESCE(?, x''), x'')
