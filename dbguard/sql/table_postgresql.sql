-- The columns of each key that no two rows of a table share: of the whole table, and of columns only. One row more, with
-- '' for the key, says that the table is there.
-- semel:safe it only reads
SELECT '', '', ''
FROM pg_class AS c
WHERE c.oid = to_regclass(CAST($1 AS text)) AND c.relkind IN ('r', 'p')
UNION ALL
SELECT '', CAST(i.indexrelid AS text), CAST(a.attname AS text)
FROM pg_index AS i
INNER JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY ((CAST(i.indkey AS smallint[]))[0:i.indnkeyatts - 1])
WHERE i.indrelid = to_regclass(CAST($1 AS text)) AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
