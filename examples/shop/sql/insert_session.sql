INSERT INTO sessions (id, account) VALUES (?, ?);
