-- What makes the schema, but for the indexes that keep a constraint, which have no text.
SELECT type, name, sql
FROM sqlite_schema
WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
ORDER BY CASE type WHEN 'table' THEN 0 WHEN 'index' THEN 1 WHEN 'view' THEN 2 ELSE 3 END, rowid
