-- Promise 8: how many rows List may look at, and the last of them.
--
-- ?1 fences below  ?2 fences from  ?3 how many
SELECT COUNT(*), COALESCE(MIN(fence), 0)
FROM (
  SELECT fence FROM {record}
  WHERE fence < ?1 AND fence >= ?2
  ORDER BY fence DESC
  LIMIT ?3
)
