-- Indexes, one row for each key part. Columns of INCLUDE are not key parts. What
-- older servers do not have (indnullsnotdistinct) is read through JSON. The planner
-- expects ten rows of unnest; of generate_series a thousand, for which it compiled
-- this statement for seconds.
-- semel:safe it only reads
SELECT
    n.nspname,
    c.relname,
    x.relname,
    coalesce(k.conname, ''),
    i.indisunique,
    i.indisprimary,
    i.indisexclusion,
    coalesce((SELECT bool_and(o.oprname = '=') FROM unnest(k.conexclop) AS e (oid) JOIN pg_catalog.pg_operator o ON o.oid = e.oid), false),
    coalesce(pg_catalog.pg_get_expr(i.indpred, i.indrelid), ''),
    coalesce((to_jsonb(i) ->> 'indnullsnotdistinct')::boolean, false),
    i.indisvalid,
    i.indisready,
    NOT i.indimmediate,
    am.amname,
    CASE WHEN x.relispartition THEN coalesce((SELECT r.relname FROM pg_catalog.pg_class r WHERE r.oid = pg_catalog.pg_partition_root(x.oid)), '') ELSE '' END,
    p.place,
    coalesce(a.attname, ''),
    CASE WHEN p.attnum = 0 THEN pg_catalog.pg_get_indexdef(i.indexrelid, p.place::integer, false) ELSE '' END,
    (i.indoption[p.place - 1] & 1) = 1,
    coalesce(pg_catalog.quote_ident(con.nspname) || '.' || pg_catalog.quote_ident(co.collname), ''),
    coalesce(NOT co.collisdeterministic, false),
    coalesce((SELECT t.typname FROM pg_catalog.pg_attribute xa JOIN pg_catalog.pg_type t ON t.oid = xa.atttypid WHERE xa.attrelid = x.oid AND xa.attnum = p.place), '')
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_am am ON am.oid = x.relam
LEFT JOIN pg_catalog.pg_constraint k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid AND k.contype IN ('p', 'u', 'x')
JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS p (attnum, place) ON p.place <= i.indnkeyatts
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = p.attnum AND a.attnum > 0
LEFT JOIN pg_catalog.pg_collation co ON co.oid = i.indcollation[p.place - 1]
LEFT JOIN pg_catalog.pg_namespace con ON con.oid = co.collnamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname !~ '^pg_(toast|temp_)'
ORDER BY n.nspname, c.relname, x.relname, p.place
LIMIT $1
