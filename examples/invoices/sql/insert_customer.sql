-- Adds a customer; nothing asks whether the same one is there already.
INSERT INTO customers (name, email) VALUES (?, ?)
RETURNING id;
