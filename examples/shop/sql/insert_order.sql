INSERT INTO orders (id, account, customer, note) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING
RETURNING number;
