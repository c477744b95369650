-- Adds a customer; a second one with the same e-mail address fails.
INSERT INTO customers (name, email) VALUES (?, ?)
RETURNING id;
