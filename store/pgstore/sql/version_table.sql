-- Whether there is a table of the scripts that were run. Reading the catalogue
-- itself, unlike to_regclass, sees what another process has just created.
SELECT EXISTS (
  SELECT FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = {{schema_name}} AND c.relname = 'migration'
)
