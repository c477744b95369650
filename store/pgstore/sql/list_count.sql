-- Promise 8: how many rows List may look at, and the last of them.
--
-- $1 fences below  $2 fences from  $3 how many
SELECT count(*), coalesce(min(looked.fence), 0)
FROM (
  SELECT r.fence FROM {{schema}}.record r
  WHERE r.fence < $1::bigint AND r.fence >= $2::bigint
  ORDER BY r.fence DESC
  LIMIT $3::integer
) looked
