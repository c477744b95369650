-- Foreign keys, but not those that partitions inherit.
SELECT
    k.conname,
    cn.nspname,
    c.relname,
    pn.nspname,
    p.relname,
    (SELECT string_agg(a.attname, E'\x01' ORDER BY x.place) FROM unnest(k.conkey) WITH ORDINALITY AS x (number, place)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = x.number),
    (SELECT string_agg(a.attname, E'\x01' ORDER BY x.place) FROM unnest(k.confkey) WITH ORDINALITY AS x (number, place)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = x.number)
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
JOIN pg_catalog.pg_namespace cn ON cn.oid = c.relnamespace
JOIN pg_catalog.pg_class p ON p.oid = k.confrelid
JOIN pg_catalog.pg_namespace pn ON pn.oid = p.relnamespace
WHERE k.contype = 'f' AND k.conparentid = 0
ORDER BY cn.nspname, c.relname, k.conname
