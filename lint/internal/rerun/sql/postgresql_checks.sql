-- Checks of tables, and those of domains with the column of their type.
SELECT n.nspname::text, c.relname::text, pg_catalog.pg_get_constraintdef(k.oid)
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'c'
UNION ALL
SELECT n.nspname::text, c.relname::text, pg_catalog.quote_ident(a.attname) || ' ' || pg_catalog.pg_get_constraintdef(k.oid)
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_attribute a ON a.atttypid = k.contypid AND a.attnum > 0
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'c' AND k.contypid <> 0
