-- Unexpired records, the greatest fence first: the table's own order, read
-- backwards, no further than list_count.sql found.
--
-- ? fences below  ? fences from  ? scope or ''  ? scope  ? name or ''  ? name
-- ? states between commas or ''  ? states  ? limit
SELECT {{columns}} FROM {{record}} FORCE INDEX (PRIMARY)
WHERE fence < ?
  AND fence >= ?
  AND expires_ms > {{now}}
  AND state <> 'released'
  AND (COALESCE(OCTET_LENGTH(?), 0) = 0 OR scope = ?)
  AND (COALESCE(OCTET_LENGTH(?), 0) = 0 OR name = ?)
  AND (COALESCE(OCTET_LENGTH(?), 0) = 0 OR LOCATE(CONCAT(',', state, ','), ?) > 0)
ORDER BY fence DESC
LIMIT ?
