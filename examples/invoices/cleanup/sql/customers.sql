-- Customers who were not merged, and how many of them are the same as another.
SELECT COUNT(*), COUNT(*) - COUNT(DISTINCT LOWER(TRIM(email))) FROM customers WHERE merged_into IS NULL;
