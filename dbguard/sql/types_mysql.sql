-- The types of a table's columns, as a cast has them, where a cast rounds or pads as storing does; TEXT and CHAR for what
-- a collation compares, '' for the others.
SELECT
    column_name,
    CASE
        WHEN data_type = 'decimal' THEN concat('DECIMAL(', numeric_precision, ', ', numeric_scale, ')')
        WHEN data_type IN ('datetime', 'timestamp') THEN concat('DATETIME(', datetime_precision, ')')
        WHEN data_type = 'time' THEN concat('TIME(', datetime_precision, ')')
        WHEN data_type IN ('date', 'json') THEN upper(data_type)
        WHEN data_type IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint') AND column_type LIKE '%unsigned%' THEN 'UNSIGNED'
        WHEN data_type IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint') THEN 'SIGNED'
        WHEN data_type IN ('float', 'double') THEN upper(data_type)
        WHEN data_type = 'binary' THEN concat('BINARY(', character_maximum_length, ')')
        WHEN data_type IN ('varchar', 'tinytext', 'text', 'mediumtext', 'longtext') THEN 'TEXT'
        WHEN data_type = 'char' THEN 'CHAR'
        ELSE ''
    END
FROM information_schema.columns
WHERE table_schema = coalesce(nullif(?, ''), database()) AND table_name = ?
