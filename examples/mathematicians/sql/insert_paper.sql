-- Inserts nothing for an id that was not handed out, an author who is not there, and an id that has its row.
INSERT INTO papers (unique_id, author, title)
SELECT h.unique_id, m.id, ?3 FROM handouts h JOIN mathematicians m ON m.unique_id = ?2
WHERE h.unique_id = ?1 AND h.kind = 'paper'
ON CONFLICT (unique_id) DO NOTHING;
