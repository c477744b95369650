
-- A message that waits already is neither written nor locked: an open transaction would keep
-- relays from deleting it.
ON CONFLICT (id) DO NOTHING
