SELECT account FROM sessions WHERE id = ?;
