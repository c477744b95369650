-- How many rows each table holds, seen at one instant.
SELECT (SELECT COUNT(*) FROM invoices),
       (SELECT COUNT(*) FROM payments),
       (SELECT COUNT(*) FROM customers),
       (SELECT COUNT(*) FROM emails);
