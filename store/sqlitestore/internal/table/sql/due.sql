-- Whether a sweep has anything to look at: so long as it has not, it takes no
-- lock.
--
-- ?1 now_ms
SELECT EXISTS (SELECT 1 FROM {record} WHERE sweep_at_ms <= ?1)
