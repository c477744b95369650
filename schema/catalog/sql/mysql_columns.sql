-- Columns, with the table that a foreign key names. Keys are read once: to look for those of each column, the server opens
-- every table of every database again.
SELECT
    c.TABLE_SCHEMA,
    c.TABLE_NAME,
    c.COLUMN_NAME,
    c.COLUMN_TYPE,
    c.IS_NULLABLE = 'YES',
    COALESCE(c.COLLATION_NAME, ''),
    c.EXTRA,
    COALESCE(c.GENERATION_EXPRESSION, ''),
    COALESCE(c.COLUMN_DEFAULT, ''),
    COALESCE(k.REFERS_TO, '')
FROM information_schema.COLUMNS c
LEFT JOIN (
    SELECT TABLE_NAME, COLUMN_NAME, MIN(REFERENCED_TABLE_NAME) AS REFERS_TO FROM information_schema.KEY_COLUMN_USAGE
    WHERE TABLE_SCHEMA = ? AND REFERENCED_TABLE_NAME IS NOT NULL
    GROUP BY TABLE_NAME, COLUMN_NAME
) k ON k.TABLE_NAME = c.TABLE_NAME AND k.COLUMN_NAME = c.COLUMN_NAME
WHERE c.TABLE_SCHEMA = ?
ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION
LIMIT ?
