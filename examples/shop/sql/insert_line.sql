-- No row comes back when the account has no such order.
-- semel:safe the row commits with the claim of its key
INSERT INTO lines (order_id, item, quantity)
SELECT id, ?, ? FROM orders WHERE account = ? AND id = ?
RETURNING id;
