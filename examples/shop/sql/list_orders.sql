-- The newest orders of all customers, oldest first.
SELECT number, id, customer, note FROM (
    SELECT number, id, customer, note FROM orders ORDER BY number DESC LIMIT ?
) ORDER BY number;
