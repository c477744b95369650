-- Gives an empty database customers to invoice.
INSERT INTO customers (id, name, email)
SELECT column1, column2, column3
FROM (VALUES
    (1, 'Ada Bakery', 'accounts@ada-bakery.example'),
    (2, 'Björk & Sons', 'faktura@bjork.example'),
    (3, 'Chandra Textiles', 'billing@chandra.example'))
WHERE NOT EXISTS (SELECT 1 FROM customers);
