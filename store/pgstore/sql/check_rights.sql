-- The rights that the verbs need and the user lacks, in words.
--
-- $1 the store is read-only
SELECT coalesce(string_agg(needed.word, ', '), '')
FROM (VALUES
  ('SELECT on table record',  has_table_privilege({{table}}, 'SELECT')),
  ('INSERT on table record',  $1::boolean OR has_table_privilege({{table}}, 'INSERT')),
  ('UPDATE on table record',  $1::boolean OR has_table_privilege({{table}}, 'UPDATE')),
  ('DELETE on table record',  $1::boolean OR has_table_privilege({{table}}, 'DELETE')),
  ('USAGE on sequence fence', $1::boolean OR has_sequence_privilege({{sequence}}, 'USAGE'))
) AS needed (word, given)
WHERE NOT needed.given
