-- Lists an invoice's payments, newest first, at most as many as asked for.
SELECT id, invoice_id, amount_cents, method, COALESCE(reference, ''), created_at
FROM payments
WHERE invoice_id = ?
ORDER BY id DESC
LIMIT ?;
