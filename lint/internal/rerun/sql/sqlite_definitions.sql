-- The definitions of the copy, one a row.
SELECT type || ' ' || name || ' ' || coalesce(sql, '') AS definition FROM sqlite_schema
