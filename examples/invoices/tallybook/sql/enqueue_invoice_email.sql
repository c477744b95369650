-- Puts the message about a new invoice into the outbox.
INSERT INTO emails (recipient, subject)
SELECT c.email, 'Your invoice ' || i.number
FROM invoices i
JOIN customers c ON c.id = i.customer_id
WHERE i.id = ?;
