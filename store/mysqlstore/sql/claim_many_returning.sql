-- claim_many.sql where the server can answer with the rows (MariaDB 10.5):
-- those that were inserted, and those that were there.
{{claim_many}} RETURNING {{columns}}
