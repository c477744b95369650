-- Affects one row when the id was handed out for this kind, used or not.
UPDATE handouts SET used = 1 WHERE unique_id = ?1 AND kind = ?2;
