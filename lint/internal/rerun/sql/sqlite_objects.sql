-- What a statement reaches through a name: views and triggers.
SELECT name, CASE type WHEN 'trigger' THEN tbl_name ELSE '' END, sql FROM sqlite_schema WHERE type IN ('view', 'trigger')
