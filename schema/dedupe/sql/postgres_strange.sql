-- The = of one of these types, or of the type that it is a domain of, which is not the one that a statement means by it.
WITH RECURSIVE semel_type AS (
    SELECT oid, typbasetype FROM pg_type WHERE oid IN ($1)
    UNION SELECT b.oid, b.typbasetype FROM semel_type AS d JOIN pg_type AS b ON b.oid = d.typbasetype
)
SELECT coalesce(min(o.amopopr::regoperator::text), '')
FROM semel_type AS t
JOIN pg_opclass AS c ON c.opcintype = t.oid AND c.opcdefault
JOIN pg_am AS m ON m.oid = c.opcmethod AND m.amname = 'btree'
JOIN pg_amop AS o ON o.amopfamily = c.opcfamily AND o.amoplefttype = t.oid AND o.amoprighttype = t.oid AND o.amopstrategy = 3
WHERE NOT pg_operator_is_visible(o.amopopr)
