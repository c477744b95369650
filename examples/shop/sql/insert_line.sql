-- No row comes back when the account has no such order.
INSERT INTO lines (order_id, item, quantity)
SELECT id, ?, ? FROM orders WHERE account = ? AND id = ?
RETURNING id;
