-- The schema that the tables are at; 0 when no step was taken.
SELECT COALESCE(MAX(version), 0) FROM {{migration}}
