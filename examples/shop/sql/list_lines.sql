-- The newest lines, of one order unless it is '', oldest first.
SELECT id, order_id, item, quantity FROM (
    SELECT id, order_id, item, quantity FROM lines WHERE ?1 = '' OR order_id = ?1 ORDER BY id DESC LIMIT ?2
) ORDER BY id;
