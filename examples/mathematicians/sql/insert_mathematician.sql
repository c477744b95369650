-- Inserts nothing for an id that was not handed out, and nothing for one that has its row.
INSERT INTO mathematicians (unique_id, name, created_name)
SELECT unique_id, ?2, ?2 FROM handouts WHERE unique_id = ?1 AND kind = 'mathematician'
ON CONFLICT (unique_id) DO NOTHING;
