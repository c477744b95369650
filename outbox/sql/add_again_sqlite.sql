
-- A message that waits already is written again only if it is the same one: otherwise fewer
-- rows are affected than given.
-- semel:safe a part of a statement; those that it is in are judged (add.go)
ON CONFLICT (id) DO UPDATE SET topic = excluded.topic
WHERE {{table}}.topic = excluded.topic AND {{table}}.message_key = excluded.message_key
  AND {{table}}.header = excluded.header AND {{table}}.body = excluded.body
