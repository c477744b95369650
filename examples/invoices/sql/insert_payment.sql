-- Adds a payment; no row comes back when the invoice is unknown.
INSERT INTO payments (invoice_id, amount_cents, method, reference)
SELECT id, ?2, ?3, NULLIF(?4, '') FROM invoices WHERE id = ?1
RETURNING id;
