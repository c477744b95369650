UPDATE entries SET unique_id = ?2 WHERE id = ?1 AND unique_id IS NULL;
