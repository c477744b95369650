-- Spreads the rows over the last two years, and adds the columns for what is merged.
ALTER TABLE customers ADD COLUMN merged_into INTEGER REFERENCES customers (id);
ALTER TABLE customers ADD COLUMN merged_at TEXT;
ALTER TABLE customers ADD COLUMN merge_run INTEGER;
CREATE INDEX invoices_by_customer ON invoices (customer_id);
-- semel:safe it runs once, in a file that was just made
UPDATE customers SET created_at = STRFTIME('%Y-%m-%dT%H:%M:%fZ', created_at, '-' || (730 - 729 * id / (SELECT MAX(id) FROM customers)) || ' days');
-- semel:safe it runs once, in a file that was just made
UPDATE invoices SET created_at = STRFTIME('%Y-%m-%dT%H:%M:%fZ', created_at, '-' || (729 - 728 * id / (SELECT MAX(id) FROM invoices)) || ' days');
-- semel:safe it runs once, in a file that was just made
UPDATE payments SET created_at = STRFTIME('%Y-%m-%dT%H:%M:%fZ', created_at, '-' || (728 - 727 * id / (SELECT MAX(id) FROM payments)) || ' days');
