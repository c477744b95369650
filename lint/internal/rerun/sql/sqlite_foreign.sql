-- Foreign keys: the columns of both sides.
-- semel:safe it only reads
SELECT '', m.name, group_concat(f."from", char(1)), '', f."table", coalesce(group_concat(f."to", char(1)), ''),
    CASE WHEN min(f.on_delete) IN ('CASCADE', 'SET NULL', 'SET DEFAULT') OR min(f.on_update) IN ('CASCADE', 'SET NULL', 'SET DEFAULT') THEN '1' ELSE '' END
FROM sqlite_schema AS m JOIN pragma_foreign_key_list(m.name) AS f
WHERE m.type = 'table' GROUP BY m.name, f.id
