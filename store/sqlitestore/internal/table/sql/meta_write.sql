-- A fence is never given twice, because it is written in the transaction that
-- gives it (promise 1); the clock never runs backwards (promise 9).
--
-- ?1 fence  ?2 count  ?3 clock_ms
UPDATE {meta} SET fence = ?1, count = ?2, clock_ms = ?3 WHERE id = 1
