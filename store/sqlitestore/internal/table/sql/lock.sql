-- The first write of a transaction: it takes the file's write lock, whatever
-- kind of BEGIN there was, and reads what the transaction starts from: the
-- fence (promise 1) and the clock (promise 9).
--
-- ?1 now_ms
UPDATE {meta} SET clock_ms = MAX(clock_ms, ?1) WHERE id = 1 RETURNING fence, clock_ms
