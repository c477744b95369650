-- Unique indexes that belong to no constraint. Those that are invalid enforce nothing yet.
SELECT 'index', i.relname::text, pg_catalog.pg_get_indexdef(x.indexrelid)
FROM pg_catalog.pg_index x
JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
JOIN pg_catalog.pg_namespace n ON n.oid = i.relnamespace
WHERE x.indisunique AND x.indisvalid AND x.indisready AND x.indislive
  AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint o WHERE o.conindid = x.indexrelid AND o.contype IN ('p', 'u', 'x'))
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n.nspname NOT LIKE 'pg\_temp\_%'
ORDER BY n.nspname, i.relname
