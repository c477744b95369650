-- Adds an invoice; no row comes back when the customer is unknown.
INSERT INTO invoices (customer_id, amount_cents, currency, note)
SELECT id, ?2, ?3, ?4 FROM customers WHERE id = ?1
RETURNING id;
