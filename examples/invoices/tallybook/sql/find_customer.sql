-- Finds one customer.
SELECT id, name, email FROM customers WHERE id = ?;
