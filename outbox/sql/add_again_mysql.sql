
-- A message that another transaction has added meanwhile is left alone if it is the same one:
-- otherwise its id would become NULL, and the server refuses.
-- semel:safe a part of a statement; those that it is in are judged (add.go)
ON DUPLICATE KEY UPDATE id = IF(topic = VALUES(topic) AND message_key = VALUES(message_key)
  AND header = VALUES(header) AND body = VALUES(body), id, NULL)
