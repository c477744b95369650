-- semel:safe a part of a statement; that which it is in is judged (statement.go), and leaves alone a message that waits already
), added AS (
  INSERT INTO {{table}} (id, topic, message_key, header, body, part, added_ms)
  SELECT id, topic, message_key, header, body, part, {{now}} FROM given
  ON CONFLICT (id) DO NOTHING
  RETURNING id
)
-- No integer looks like this: the statement fails if another message has the id.
SELECT ('outbox: the id ' || given.id || ' belongs to another message')::integer FROM given
WHERE id NOT IN (SELECT id FROM added)
  AND NOT EXISTS (
    SELECT FROM {{table}} AS there
    WHERE there.id = given.id AND there.topic = given.topic AND there.message_key = given.message_key
      AND there.header = given.header AND there.body = given.body
  )
