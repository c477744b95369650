-- Tables and views, with how a partitioned one is divided.
SELECT
    t.TABLE_SCHEMA,
    t.TABLE_NAME,
    t.TABLE_TYPE,
    COALESCE(t.ENGINE, ''),
    COALESCE(t.TABLE_ROWS, -1),
    COALESCE((
        SELECT MIN(p.PARTITION_EXPRESSION) FROM information_schema.PARTITIONS p
        WHERE p.TABLE_SCHEMA = t.TABLE_SCHEMA AND p.TABLE_NAME = t.TABLE_NAME AND p.PARTITION_NAME IS NOT NULL
    ), '')
FROM information_schema.TABLES t
WHERE t.TABLE_SCHEMA = ?
ORDER BY t.TABLE_NAME
LIMIT ?
