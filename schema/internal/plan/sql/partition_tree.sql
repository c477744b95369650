-- The partition tree of a table, parents first, with the indexes of each table:
-- their names, whether they enforce, and whether they are a part of another.
-- semel:safe it only reads
SELECT
    n.nspname,
    c.relname,
    coalesce(pn.nspname, ''),
    coalesce(pc.relname, ''),
    t.isleaf,
    c.relkind = 'f',
    coalesce(x.names, ''),
    coalesce(x.valid, ''),
    coalesce(x.attached, '')
FROM pg_catalog.pg_class root
JOIN pg_catalog.pg_namespace rn ON rn.oid = root.relnamespace AND rn.nspname = $1
CROSS JOIN LATERAL pg_catalog.pg_partition_tree(root.oid) AS t
JOIN pg_catalog.pg_class c ON c.oid = t.relid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_class pc ON pc.oid = t.parentrelid
LEFT JOIN pg_catalog.pg_namespace pn ON pn.oid = pc.relnamespace
LEFT JOIN LATERAL (
    SELECT
        string_agg(ic.relname, E'\x01' ORDER BY ic.oid) AS names,
        string_agg(CASE WHEN i.indisvalid AND i.indisready THEN 't' ELSE 'f' END, E'\x01' ORDER BY ic.oid) AS valid,
        string_agg(CASE WHEN ic.relispartition THEN 't' ELSE 'f' END, E'\x01' ORDER BY ic.oid) AS attached
    FROM pg_catalog.pg_index i
    JOIN pg_catalog.pg_class ic ON ic.oid = i.indexrelid
    WHERE i.indrelid = c.oid
) AS x ON true
WHERE root.relname = $2
ORDER BY t.level, n.nspname, c.relname
