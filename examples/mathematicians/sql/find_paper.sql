SELECT p.unique_id, m.unique_id, p.title FROM papers p JOIN mathematicians m ON m.id = p.author WHERE p.unique_id = ?1;
