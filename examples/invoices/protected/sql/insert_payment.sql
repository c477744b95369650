-- Adds a payment; no row comes back when the invoice is unknown, when the bank's
-- reference is known, and when it is more than what is still due. The balance is
-- read by the statement that spends it: nothing comes between the two.
-- semel:safe the row commits with the claim of its key
INSERT INTO payments (invoice_id, amount_cents, method, reference)
SELECT id, ?2, ?3, NULLIF(?4, '') FROM invoices WHERE id = ?1
   AND ?2 <= amount_cents - (SELECT COALESCE(SUM(amount_cents), 0) FROM payments WHERE invoice_id = ?1)
ON CONFLICT (invoice_id, reference) DO NOTHING
RETURNING id;
