-- Finds one payment.
SELECT id, invoice_id, amount_cents, method, COALESCE(reference, ''), created_at
FROM payments
WHERE id = ?;
