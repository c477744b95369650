-- Tables, views and partitions of all schemas but the server's own, with the
-- root of the partition tree that a partition hangs in.
SELECT
    n.nspname,
    c.relname,
    c.relkind::text,
    c.relispartition,
    pg_catalog.pg_table_is_visible(c.oid),
    c.reltuples::bigint,
    coalesce(rn.nspname, ''),
    coalesce(rc.relname, ''),
    EXISTS (
        SELECT 1 FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
        WHERE i.inhrelid = c.oid AND p.relkind = 'r'
    ),
    coalesce((
        SELECT pc.relname FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class pc ON pc.oid = i.inhparent
        WHERE i.inhrelid = c.oid AND pc.relkind = 'r' ORDER BY i.inhseqno LIMIT 1
    ), ''),
    coalesce((
        SELECT string_agg(coalesce(a.attname, ''), E'\x01' ORDER BY k.place)
        FROM pg_catalog.pg_partitioned_table pt
        CROSS JOIN LATERAL unnest(pt.partattrs::int2[]) WITH ORDINALITY AS k (number, place)
        LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number AND k.number > 0
        WHERE pt.partrelid = c.oid
    ), '')
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_class rc ON c.relispartition AND rc.oid = pg_catalog.pg_partition_root(c.oid)
LEFT JOIN pg_catalog.pg_namespace rn ON rn.oid = rc.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname !~ '^pg_(toast|temp_)'
ORDER BY n.nspname, c.relname
LIMIT $1
