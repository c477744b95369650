-- How many records there are, at a cost that does not grow with them, and the
-- latest time the store's clock has shown (promise 9).
SELECT count, clock_ms FROM {meta} WHERE id = 1
