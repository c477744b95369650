-- At most one holder: the row is changed only where its lease has ended. An
-- owner that did not hear its answer gets it again. Whether it was won says
-- the owner in the row alone (lock_mine.sql): the number of affected rows
-- depends on the connection. The assignments take effect from left to right;
-- each condition holds in whatever order they do.
--
-- ? name  ? owner  ? lease in microseconds
-- semel:safe an owner that asks again keeps its fence; only the end of its lease moves
INSERT INTO {{table}} (name, fence, owner, lease_until_us)
VALUES (?, {{now}}, ?, {{now}} + ?)
ON DUPLICATE KEY UPDATE
  fence = IF(lease_until_us <= {{now}} AND owner <> VALUES(owner), GREATEST(fence + 1, {{now}}), fence),
  owner = IF(lease_until_us <= {{now}}, VALUES(owner), owner),
  lease_until_us = IF(lease_until_us <= {{now}} OR owner = VALUES(owner), VALUES(lease_until_us), lease_until_us)
