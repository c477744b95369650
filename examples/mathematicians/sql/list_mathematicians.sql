SELECT id, unique_id, name, created_name, version FROM mathematicians WHERE unique_id > ?1 ORDER BY unique_id LIMIT ?2;
