-- Functions of the server and of libraries that may do more than compute.
SELECT DISTINCT lower(p.proname::text)
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang
WHERE p.provolatile = 'v' AND (l.lanname IN ('internal', 'c') OR NOT l.lanpltrusted)
