-- Finds one invoice, with its customer's name and what has been paid so far.
SELECT i.id, i.number, i.customer_id, c.name, i.amount_cents, i.currency, i.note, i.created_at,
       (SELECT COALESCE(SUM(p.amount_cents), 0) FROM payments p WHERE p.invoice_id = i.id)
FROM invoices i
JOIN customers c ON c.id = i.customer_id
WHERE i.id = ?;
