-- Foreign keys: the columns of both sides in their order.
SELECT n.nspname::text, c.relname::text,
    (SELECT string_agg(a.attname::text, chr(1) ORDER BY k.place)
     FROM unnest(f.conkey) WITH ORDINALITY k (number, place) JOIN pg_catalog.pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.number),
    pn.nspname::text, p.relname::text,
    (SELECT string_agg(a.attname::text, chr(1) ORDER BY k.place)
     FROM unnest(f.confkey) WITH ORDINALITY k (number, place) JOIN pg_catalog.pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.number),
    CASE WHEN f.confdeltype IN ('c', 'n', 'd') OR f.confupdtype IN ('c', 'n', 'd') THEN '1' ELSE '' END
FROM pg_catalog.pg_constraint f
JOIN pg_catalog.pg_class c ON c.oid = f.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_class p ON p.oid = f.confrelid JOIN pg_catalog.pg_namespace pn ON pn.oid = p.relnamespace
WHERE f.contype = 'f'
