-- How far the sequences are.
SELECT schemaname || '.' || sequencename AS sequence, last_value::text FROM pg_catalog.pg_sequences
