-- Columns, with what a domain hides: the type below it, and its NOT NULL.
WITH RECURSIVE base (domain, type, refuses_null) AS (
    SELECT t.oid, t.typbasetype, t.typnotnull FROM pg_catalog.pg_type t WHERE t.typtype = 'd'
    UNION ALL
    SELECT b.domain, t.typbasetype, b.refuses_null OR t.typnotnull
    FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.type AND t.typtype = 'd'
)
SELECT
    n.nspname,
    c.relname,
    a.attname,
    pg_catalog.format_type(a.atttypid, a.atttypmod),
    t.typname,
    NOT (a.attnotnull OR coalesce(b.refuses_null, false)),
    coalesce(pg_catalog.quote_ident(con.nspname) || '.' || pg_catalog.quote_ident(co.collname), ''),
    coalesce(NOT co.collisdeterministic, false),
    a.attgenerated::text,
    a.attidentity::text,
    coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), ''),
    coalesce((
        SELECT f.relname FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class f ON f.oid = k.confrelid
        WHERE k.contype = 'f' AND k.conrelid = c.oid AND a.attnum = ANY (k.conkey) ORDER BY k.conname LIMIT 1
    ), '')
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN base b ON b.domain = a.atttypid AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_type u WHERE u.oid = b.type AND u.typtype = 'd')
JOIN pg_catalog.pg_type t ON t.oid = coalesce(b.type, a.atttypid)
LEFT JOIN pg_catalog.pg_collation co ON co.oid = a.attcollation
LEFT JOIN pg_catalog.pg_namespace con ON con.oid = co.collnamespace
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attnum > 0 AND NOT a.attisdropped
  AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname !~ '^pg_(toast|temp_)'
ORDER BY n.nspname, c.relname, a.attnum
LIMIT $1
