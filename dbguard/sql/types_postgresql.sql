-- The types of a table's columns, as a cast has them: with length, precision and scale.
SELECT attname, format_type(atttypid, atttypmod)
FROM pg_attribute
WHERE attrelid = CAST($1 AS text)::regclass AND attnum > 0 AND NOT attisdropped
