
-- A message that waits already is neither written nor locked: an open transaction would keep
-- relays from deleting it.
-- semel:safe a part of a statement; those that it is in are judged (add.go)
ON CONFLICT (id) DO NOTHING
