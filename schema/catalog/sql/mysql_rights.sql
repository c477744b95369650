-- Whether this user may read tables of the database, for when none is to be seen.
SELECT
    CURRENT_USER(),
    EXISTS (SELECT 1 FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE = 'SELECT')
    OR EXISTS (SELECT 1 FROM information_schema.SCHEMA_PRIVILEGES WHERE PRIVILEGE_TYPE = 'SELECT' AND ? LIKE TABLE_SCHEMA)
