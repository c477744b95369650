DELETE FROM stock WHERE unique_id IN (SELECT unique_id FROM entries WHERE ref = ?1);
