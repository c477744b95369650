SELECT count(*) FROM stock WHERE kind = ?1;
