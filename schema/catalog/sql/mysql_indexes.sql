-- Indexes, one row for each part. All columns: MySQL has EXPRESSION and
-- IS_VISIBLE, MariaDB has IGNORED, older ones have neither.
SELECT *
FROM information_schema.STATISTICS
WHERE TABLE_SCHEMA = ?
ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX
LIMIT ?
