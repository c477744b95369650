-- One row of tx_together.sql. There are modes of MariaDB in which an empty
-- string is NULL, but x'' is not.
--
-- ? digest  ? state  ? kept  ? owner  ? fingerprint  ? retention_ms  ? retention_ms
-- ? scope  ? name  ? note  ? outcome
-- semel:safe a part of a statement; that it is in is judged
(?, ?, ?, 1, ?, ?, @semel_now, @semel_now, @semel_now, @semel_now + ?, @semel_now + ?, COALESCE(?, x''), COALESCE(?, x''), COALESCE(?, x''), ?)
