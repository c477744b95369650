-- The entry, and everything that needs it.
-- semel:safe it changes waiting entries only, which are refused afterwards
WITH RECURSIVE needs (id, reason) AS (
    SELECT ?1, ?2
    UNION ALL
    SELECT e.id, 'what it belongs to was refused' FROM entries e JOIN needs n ON e.parent = n.id
)
UPDATE entries SET state = 'refused', reason = needs.reason FROM needs
WHERE entries.id = needs.id AND entries.state = 'waiting';
