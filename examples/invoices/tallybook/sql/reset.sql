-- Empties every table, children first. Ids start at 1 again.
DELETE FROM emails;
DELETE FROM payments;
DELETE FROM invoices;
DELETE FROM customers;
