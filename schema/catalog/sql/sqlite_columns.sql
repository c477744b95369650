-- Columns of one table. hidden is 2 for a virtual and 3 for a stored generated one.
-- semel:safe it only reads
SELECT x.name, x.type, x."notnull", coalesce(x.dflt_value, ''), x.pk, x.hidden,
    coalesce((SELECT min(f."table") FROM pragma_foreign_key_list(?1, ?2) AS f WHERE f."from" = x.name), '')
FROM pragma_table_xinfo(?1, ?2) AS x
WHERE x.hidden <> 1
ORDER BY x.cid
