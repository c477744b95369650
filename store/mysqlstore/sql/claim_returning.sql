-- claim.sql where the server can answer with what it has inserted (MariaDB
-- 10.5), in one round trip.
{{claim}} RETURNING fence, claimed_ms
