UPDATE entries SET state = 'done' WHERE id = ?1 AND state = 'waiting';
