-- The columns of each key that no two rows of a table share: of the whole table; '' for an expression. One row more, with
-- '' for the key, says that the table is there.
-- semel:safe it only reads
SELECT '', '', '' FROM pragma_table_list WHERE name = ?2 COLLATE NOCASE AND ?1 IN ('', schema COLLATE NOCASE) AND type <> 'view'
UNION ALL
SELECT '', 'PRIMARY KEY', name FROM pragma_table_info(?2, NULLIF(?1, '')) WHERE pk > 0
UNION ALL
SELECT '', 'rowid', column1 FROM (VALUES ('rowid'), ('oid'), ('_rowid_'))
UNION ALL
SELECT '', i.name, COALESCE(c.name, '')
FROM pragma_index_list(?2, NULLIF(?1, '')) AS i
INNER JOIN pragma_index_info(i.name, NULLIF(?1, '')) AS c
WHERE i."unique" AND NOT i.partial
