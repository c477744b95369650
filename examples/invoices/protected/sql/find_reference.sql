-- Finds an invoice's payment by the bank's reference.
SELECT id FROM payments WHERE invoice_id = ? AND reference = ?;
