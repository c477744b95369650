-- What every transaction starts from: the fence (promise 1), the count and
-- the clock (promise 9).
SELECT fence, count, clock_ms FROM {meta} WHERE id = 1
