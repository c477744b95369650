-- Tables and views of all attached databases, with the text that made them.
SELECT l.schema, l.name, l.type, l.wr, d.seq
FROM pragma_table_list AS l
JOIN pragma_database_list AS d ON d.name = l.schema
WHERE l.type IN ('table', 'view', 'virtual') AND l.name NOT LIKE 'sqlite\_%' ESCAPE '\'
ORDER BY d.seq, l.name
LIMIT ?
