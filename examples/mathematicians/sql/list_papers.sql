SELECT p.unique_id, m.unique_id, p.title FROM papers p JOIN mathematicians m ON m.id = p.author
WHERE p.author = ?1 AND p.unique_id > ?2 ORDER BY p.unique_id LIMIT ?3;
