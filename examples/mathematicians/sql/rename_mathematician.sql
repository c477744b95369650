-- The same name again changes nothing, so that a PUT that is repeated keeps the version.
-- semel:safe the same name matches no row
UPDATE mathematicians SET first_name = ?2, last_name = ?3, version = version + 1
WHERE id = ?1 AND (first_name <> ?2 OR last_name <> ?3);
