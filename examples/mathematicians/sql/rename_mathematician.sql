-- The same name again changes nothing, so that a PUT that is repeated keeps the version.
UPDATE mathematicians SET name = ?2, version = version + 1 WHERE id = ?1 AND name <> ?2;
