-- At most one holder: the row is written only where its lease has ended, which
-- is checked again once the row is locked. While another transaction holds it, this
-- reads and writes nothing. An owner that did not hear its answer gets it again.
--
-- $1 name  $2 owner  $3 lease in microseconds
-- semel:safe an owner that asks again keeps its fence; only the end of its lease moves
INSERT INTO {{table}} AS l (name, fence, owner, lease_until_us)
SELECT $1::text, {{now}}, $2::bytea, {{now}} + $3::bigint
WHERE NOT EXISTS (
  SELECT FROM {{table}} h WHERE h.name = $1::text AND h.lease_until_us > {{now}} AND h.owner <> $2::bytea
)
ON CONFLICT (name) DO UPDATE
SET fence = CASE WHEN l.owner = excluded.owner THEN l.fence ELSE greatest(l.fence + 1, {{now}}) END,
    owner = excluded.owner,
    lease_until_us = {{now}} + $3::bigint
WHERE l.lease_until_us <= {{now}} OR l.owner = excluded.owner
RETURNING l.fence
