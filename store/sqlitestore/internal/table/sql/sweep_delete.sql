-- The second half of a sweep step: what has expired is removed. Every other
-- verb took it for absent before, so nothing changes for them.
--
-- ?1 now_ms  ?2 limit
-- semel:safe a sweep step: each run takes further rows, of which none counts any more
DELETE FROM {record}
WHERE expires_at_ms <= ?1
  AND fence IN (SELECT fence FROM {record} WHERE sweep_at_ms <= ?1 ORDER BY sweep_at_ms LIMIT ?2)
