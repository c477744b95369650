-- Promise 8: how many rows List may look at, and the last of them.
--
-- ? fences below  ? fences from  ? how many
SELECT COUNT(*), COALESCE(MIN(looked.fence), 0)
FROM (
  SELECT fence FROM {{record}} FORCE INDEX (PRIMARY)
  WHERE fence < ? AND fence >= ?
  ORDER BY fence DESC
  LIMIT ?
) looked
