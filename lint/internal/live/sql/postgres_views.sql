-- Views, without those of extensions.
SELECT
    'view',
    c.relname::text,
    pg_catalog.format('CREATE VIEW %s%I AS %s',
        CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN '' ELSE pg_catalog.quote_ident(n.nspname) || '.' END,
        c.relname, pg_catalog.pg_get_viewdef(c.oid))
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'v'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_temp\_%'
  AND NOT EXISTS (
      SELECT 1 FROM pg_catalog.pg_depend d
      WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY n.nspname, c.relname
