-- Puts the receipt for a payment into the outbox.
INSERT INTO emails (recipient, subject)
SELECT c.email, 'Receipt for your payment of invoice ' || i.number
FROM payments p
JOIN invoices i ON i.id = p.invoice_id
JOIN customers c ON c.id = i.customer_id
WHERE p.id = ?;
