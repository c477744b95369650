-- Primary keys, unique and exclusion constraints, and foreign keys. Those whose index is invalid enforce nothing yet.
SELECT
    'constraint',
    o.conname::text,
    pg_catalog.format('ALTER TABLE ONLY %s%I ADD CONSTRAINT %I %s',
        CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN '' ELSE pg_catalog.quote_ident(n.nspname) || '.' END,
        c.relname, o.conname, pg_catalog.pg_get_constraintdef(o.oid))
FROM pg_catalog.pg_constraint o
JOIN pg_catalog.pg_class c ON c.oid = o.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_index x ON x.indexrelid = o.conindid AND o.contype IN ('p', 'u', 'x')
WHERE o.contype IN ('p', 'u', 'x', 'f') AND COALESCE(x.indisvalid, TRUE)
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n.nspname NOT LIKE 'pg\_temp\_%'
ORDER BY o.contype = 'f', n.nspname, c.relname, o.conname
