-- The tables and views of the database, and whether this user may see the triggers of each. Of several patterns that match the
-- database, the server uses one only: all have to give the right.
SELECT
    t.TABLE_NAME,
    t.TABLE_TYPE,
    EXISTS (
        SELECT 1 FROM information_schema.USER_PRIVILEGES
        WHERE PRIVILEGE_TYPE = 'TRIGGER' AND GRANTEE = me.name)
    OR EXISTS (
        SELECT 1 FROM information_schema.SCHEMA_PRIVILEGES
        WHERE PRIVILEGE_TYPE = 'TRIGGER' AND GRANTEE = me.name AND DATABASE() LIKE TABLE_SCHEMA)
    AND NOT EXISTS (
        SELECT 1 FROM information_schema.SCHEMA_PRIVILEGES p
        WHERE p.GRANTEE = me.name AND DATABASE() LIKE p.TABLE_SCHEMA AND NOT EXISTS (
            SELECT 1 FROM information_schema.SCHEMA_PRIVILEGES q
            WHERE q.PRIVILEGE_TYPE = 'TRIGGER' AND q.GRANTEE = me.name AND q.TABLE_SCHEMA = p.TABLE_SCHEMA))
    OR EXISTS (
        SELECT 1 FROM information_schema.TABLE_PRIVILEGES p
        WHERE p.PRIVILEGE_TYPE = 'TRIGGER' AND p.GRANTEE = me.name AND p.TABLE_SCHEMA = t.TABLE_SCHEMA AND p.TABLE_NAME = t.TABLE_NAME)
FROM information_schema.TABLES t
CROSS JOIN (
    SELECT CONCAT('''', SUBSTRING_INDEX(CURRENT_USER(), '@', 1), '''@''', SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''') AS name
) AS me
WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE NOT LIKE '%SEQUENCE%'
ORDER BY t.TABLE_TYPE LIKE '%VIEW%', t.TABLE_NAME
LIMIT 200001
