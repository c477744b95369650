-- The index that an error names (a partition's, perhaps), its root, and the root's columns in order; '' for an expression.
WITH RECURSIVE up (oid) AS (
    SELECT i.oid
    FROM pg_class AS i
    JOIN pg_index AS x ON x.indexrelid = i.oid
    JOIN pg_class AS t ON t.oid = x.indrelid
    JOIN pg_namespace AS n ON n.oid = t.relnamespace
    WHERE n.nspname = $1 AND t.relname = $2 AND i.relname = $3
    UNION ALL
    SELECT h.inhparent FROM up JOIN pg_inherits AS h ON h.inhrelid = up.oid
)
SELECT n.nspname, t.relname, i.relname, coalesce(a.attname, '')
FROM up
JOIN pg_index AS x ON x.indexrelid = up.oid
JOIN pg_class AS i ON i.oid = x.indexrelid
JOIN pg_class AS t ON t.oid = x.indrelid
JOIN pg_namespace AS n ON n.oid = t.relnamespace
CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY AS k (attnum, place)
LEFT JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = k.attnum AND k.attnum <> 0
WHERE NOT EXISTS (SELECT FROM pg_inherits AS h WHERE h.inhrelid = up.oid)
    AND k.place <= x.indnkeyatts
ORDER BY k.place
