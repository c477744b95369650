-- At most one holder: the row is written only where its lease has ended. An
-- owner that did not hear its answer gets it again.
--
-- ?1 name  ?2 owner  ?3 lease in microseconds
-- semel:safe an owner that asks again keeps its fence; only the end of its lease moves
INSERT INTO {{table}} AS l (name, fence, owner, lease_until_us)
VALUES (?1, {{now}}, ?2, {{now}} + ?3)
ON CONFLICT (name) DO UPDATE
SET fence = CASE WHEN l.owner = excluded.owner THEN l.fence ELSE max(l.fence + 1, {{now}}) END,
    owner = excluded.owner,
    lease_until_us = excluded.lease_until_us
WHERE l.lease_until_us <= {{now}} OR l.owner = excluded.owner
RETURNING fence
