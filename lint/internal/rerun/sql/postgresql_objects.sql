-- What a statement reaches through a name: views, triggers with their functions, rules, routines.
SELECT c.relname::text, '', pg_catalog.pg_get_viewdef(c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('v', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
UNION ALL
SELECT t.tgname::text, c.relname::text, replace(pg_catalog.pg_get_triggerdef(t.oid), ' EXECUTE ', ' ')
FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal
UNION ALL
SELECT r.rulename::text, c.relname::text, pg_catalog.pg_get_ruledef(r.oid)
FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class WHERE r.rulename <> '_RETURN'
UNION ALL
SELECT p.proname::text, '', pg_catalog.pg_get_functiondef(p.oid)
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace JOIN pg_catalog.pg_language l ON l.oid = p.prolang
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND l.lanname NOT IN ('c', 'internal') AND p.prokind <> 'a'
