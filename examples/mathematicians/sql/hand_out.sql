-- Nothing is inserted when as many as ?3 wait to be used.
-- semel:safe unique_id is the primary key: a second run is refused, or inserts nothing
INSERT INTO handouts (unique_id, kind)
SELECT ?1, ?2
WHERE (SELECT count(*) FROM handouts WHERE used = 0) < ?3;
