-- Invoices and payments, the new orders apart from the old ones, by e-mail address.
SELECT i.note = 'order', LOWER(TRIM(c.email)), COUNT(*), SUM(i.amount_cents), SUM(p.n), SUM(p.cents)
FROM invoices i
JOIN customers c ON c.id = i.customer_id
JOIN (SELECT i.id, COUNT(p.id) AS n, COALESCE(SUM(p.amount_cents), 0) AS cents FROM invoices i LEFT JOIN payments p ON p.invoice_id = i.id GROUP BY i.id) p ON p.id = i.id
GROUP BY 1, 2
ORDER BY 1, 2;
