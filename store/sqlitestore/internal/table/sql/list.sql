-- Unexpired records, the greatest fence first: the table's own order, read
-- backwards, no further than list_count.sql found.
--
-- ?1 now_ms  ?2 fences below  ?3 scope or ''  ?4 name or ''
-- ?5 the states between commas, or ''  ?6 with outcomes  ?7 limit
-- ?8 fences from
SELECT fence, digest, state, attempt, owner, fingerprint,
       claimed_at_ms, settled_at_ms, lease_until_ms, expires_at_ms,
       kept, scope, name, note, IIF(?6, outcome, NULL),
       ?1
FROM {record}
WHERE fence < ?2
  AND fence >= ?8
  AND expires_at_ms > ?1
  AND (?3 = '' OR scope = ?3)
  AND (?4 = '' OR name = ?4)
  AND (?5 = '' OR INSTR(?5, ',' || state || ',') > 0)
ORDER BY fence DESC
LIMIT ?7
