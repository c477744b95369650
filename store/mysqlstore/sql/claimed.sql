-- What the database chose for a row that was inserted (promises 1 and 9).
--
-- ? fence
SELECT fence, claimed_ms FROM {{record}} WHERE fence = ?
