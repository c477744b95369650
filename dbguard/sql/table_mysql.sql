-- The engine of a table, where it has no transactions, and the columns of each of its unique keys; '' for an expression.
-- One row more, with '' for the key, says that the table is there.
SELECT
    CASE WHEN (SELECT e.transactions FROM information_schema.engines AS e WHERE e.engine = t.engine) = 'YES' THEN '' ELSE t.engine END,
    '',
    ''
FROM information_schema.tables AS t
WHERE t.table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND t.table_name = ? AND t.table_type = 'BASE TABLE'
UNION ALL
SELECT '', s.index_name, COALESCE(s.column_name, '')
FROM information_schema.statistics AS s
WHERE s.table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND s.table_name = ? AND s.non_unique = 0
