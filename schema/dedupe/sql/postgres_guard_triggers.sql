-- The triggers of a guard: those that its functions have, by the functions' comment.
SELECT
    fn.nspname || '.' || p.proname,
    tn.nspname || '.' || c.relname,
    t.tgname,
    t.tgenabled <> 'D'
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_namespace fn ON fn.oid = p.pronamespace
LEFT JOIN pg_catalog.pg_trigger t ON t.tgfoid = p.oid AND NOT t.tgisinternal AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid = t.tgrelid)
LEFT JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
LEFT JOIN pg_catalog.pg_namespace tn ON tn.oid = c.relnamespace
WHERE pg_catalog.obj_description(p.oid, 'pg_proc') = $1
ORDER BY 1, 2, 3
