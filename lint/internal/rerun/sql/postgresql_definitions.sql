-- The definitions of the copy, one a row.
WITH own AS (SELECT oid, nspname FROM pg_catalog.pg_namespace WHERE nspname NOT IN ('pg_catalog', 'information_schema') AND nspname !~ '^pg_')
SELECT 'column ' || c.oid::regclass || '.' || a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod)
    || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END || coalesce(' default ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid), '') AS definition
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN own ON own.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind NOT IN ('i', 'I', 'S')
UNION ALL SELECT 'relation ' || c.oid::regclass || ' ' || c.relkind::text FROM pg_catalog.pg_class c JOIN own ON own.oid = c.relnamespace
UNION ALL SELECT pg_catalog.pg_get_indexdef(i.indexrelid)
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indrelid JOIN own ON own.oid = c.relnamespace
UNION ALL SELECT 'constraint ' || k.conname || ' of ' || k.conrelid::regclass || ' ' || pg_catalog.pg_get_constraintdef(k.oid)
FROM pg_catalog.pg_constraint k JOIN own ON own.oid = k.connamespace
UNION ALL SELECT 'routine ' || p.oid::regprocedure || ' ' || p.prosrc FROM pg_catalog.pg_proc p JOIN own ON own.oid = p.pronamespace
UNION ALL SELECT pg_catalog.pg_get_triggerdef(t.oid) FROM pg_catalog.pg_trigger t WHERE NOT t.tgisinternal
UNION ALL SELECT pg_catalog.pg_get_ruledef(r.oid) FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class JOIN own ON own.oid = c.relnamespace
UNION ALL SELECT 'type ' || t.oid::regtype || coalesce((SELECT ' ' || string_agg(e.enumlabel, ', ' ORDER BY e.enumsortorder) FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid), '')
FROM pg_catalog.pg_type t JOIN own ON own.oid = t.typnamespace
UNION ALL SELECT 'schema ' || nspname FROM own
