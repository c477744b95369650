-- Triggers and rules of the users that rows of a table fire, and row level security; not those of the guard.
SELECT n.nspname, c.relname, 'trigger ' || t.tgname
FROM pg_catalog.pg_trigger t
JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE NOT t.tgisinternal AND t.tgenabled <> 'D' AND t.tgtype & 24 <> 0 AND t.tgname NOT LIKE 'semel\_dedupe\_guard\_%'
UNION ALL
SELECT n.nspname, c.relname, 'rule ' || r.rulename
FROM pg_catalog.pg_rewrite r
JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE r.ev_type <> '1' AND c.relkind IN ('r', 'p')
UNION ALL
SELECT n.nspname, c.relname, 'row level security'
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relrowsecurity
ORDER BY 1, 2, 3
