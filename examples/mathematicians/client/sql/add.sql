-- Takes an id from the stock, if there is one. What waits is bounded by ?5.
-- semel:safe ref is unique: a second run inserts nothing
INSERT INTO entries (ref, kind, parent, body, unique_id)
SELECT ?1, ?2, ?3, ?4, (SELECT min(unique_id) FROM stock WHERE kind = ?2)
WHERE (SELECT count(*) FROM entries WHERE state = 'waiting') < ?5
ON CONFLICT (ref) DO NOTHING;
