-- The values of enums.
SELECT t.typname::text, e.enumlabel::text
FROM pg_catalog.pg_enum e JOIN pg_catalog.pg_type t ON t.oid = e.enumtypid ORDER BY t.typname, e.enumsortorder
