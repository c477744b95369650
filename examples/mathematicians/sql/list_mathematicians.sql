SELECT id, unique_id, first_name, last_name, created_first_name, created_last_name, version FROM mathematicians WHERE unique_id > ?1 ORDER BY unique_id LIMIT ?2;
