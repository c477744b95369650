-- What the types of arguments hold: of an array, the type of its elements, of a domain what it is made of, and of an
-- enumeration two labels.
SELECT a.oid::text, (t.oid <> a.oid)::text AS listed, coalesce(nullif(t.typbasetype, 0), t.oid)::text AS element,
    coalesce((SELECT min(e.enumlabel) FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid), '') AS label,
    coalesce((SELECT max(e.enumlabel) FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid), '') AS other
FROM pg_catalog.pg_type a
JOIN pg_catalog.pg_type t ON t.oid = CASE WHEN a.typcategory = 'A' AND a.typelem <> 0 THEN a.typelem ELSE a.oid END
WHERE a.oid = ANY ($1::oid[])
