UPDATE handouts SET used = 1 WHERE unique_id = ?1 AND used = 0;
