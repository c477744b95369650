SELECT count(*) FROM handouts WHERE unique_id = ?1 AND kind = ?2;
