-- Lists the outbox, newest first, at most as many as asked for.
SELECT id, recipient, subject, created_at FROM emails ORDER BY id DESC LIMIT ?;
