-- The columns of an index of a table in the current database, in order.
-- semel:safe it only reads
SELECT coalesce(column_name, '')
FROM information_schema.statistics
WHERE table_schema = DATABASE() AND table_name = ? AND index_name = ?
ORDER BY seq_in_index
