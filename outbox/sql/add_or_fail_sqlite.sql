
-- The id of another message would become NULL, and the database refuses.
-- semel:safe a part of a statement; those that it is in are judged (statement.go)
ON CONFLICT (id) DO UPDATE SET id = CASE WHEN {{table}}.topic = excluded.topic AND {{table}}.message_key = excluded.message_key
  AND {{table}}.header = excluded.header AND {{table}}.body = excluded.body THEN excluded.id END
