-- The functions of triggers, for what they write.
SELECT p.proname, pg_catalog.pg_get_functiondef(p.oid)
FROM pg_catalog.pg_proc p
WHERE p.oid IN (SELECT t.tgfoid FROM pg_catalog.pg_trigger t WHERE NOT t.tgisinternal)
  AND p.prokind = 'f'
ORDER BY p.proname, p.oid
