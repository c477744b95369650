-- The columns of all tables, table by table. A domain's default is that of its columns.
SELECT
    CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN '' ELSE pg_catalog.quote_ident(n.nspname) || '.' END || pg_catalog.quote_ident(c.relname),
    c.relkind::text,
    COALESCE((
        SELECT pg_catalog.string_agg(CASE WHEN pg_catalog.pg_table_is_visible(p.oid) THEN '' ELSE pg_catalog.quote_ident(pn.nspname) || '.' END
            || pg_catalog.quote_ident(p.relname), ', ' ORDER BY i.inhseqno)
        FROM pg_catalog.pg_inherits i
        JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
        JOIN pg_catalog.pg_namespace pn ON pn.oid = p.relnamespace
        WHERE i.inhrelid = c.oid), ''),
    COALESCE(a.attname, ''),
    COALESCE(pg_catalog.format_type(a.atttypid, a.atttypmod), ''),
    COALESCE((
        SELECT pg_catalog.quote_ident(ln.nspname) || '.' || pg_catalog.quote_ident(l.collname)
        FROM pg_catalog.pg_collation l
        JOIN pg_catalog.pg_namespace ln ON ln.oid = l.collnamespace
        WHERE l.oid = a.attcollation AND a.attcollation <> ty.typcollation), ''),
    COALESCE(a.attnotnull OR ty.typnotnull, FALSE),
    COALESCE(a.attidentity::text, ''),
    COALESCE(a.attgenerated::text, ''),
    COALESCE(pg_catalog.pg_get_expr(d.adbin, d.adrelid), pg_catalog.pg_get_expr(ty.typdefaultbin, 0), ''),
    COALESCE(pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%' AND EXISTS (
        SELECT 1 FROM pg_catalog.pg_depend o
        JOIN pg_catalog.pg_class s ON s.oid = o.objid AND s.relkind = 'S'
        JOIN pg_catalog.pg_depend u ON u.refobjid = s.oid AND u.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND u.objid = d.oid
        WHERE o.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND o.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
          AND o.refobjid = c.oid AND o.refobjsubid = a.attnum AND o.deptype = 'a'), FALSE)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_type ty ON ty.oid = a.atttypid
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relkind IN ('r', 'p', 'f', 'm')
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n.nspname NOT LIKE 'pg\_temp\_%' AND n.nspname NOT LIKE 'pg\_toast\_temp\_%'
ORDER BY n.nspname, c.relname, a.attnum
