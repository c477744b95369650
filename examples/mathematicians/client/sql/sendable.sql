-- What waits and whose parent is there, the oldest first.
SELECT e.id, e.kind, e.body, coalesce(e.unique_id, ''), coalesce(p.unique_id, '')
FROM entries e LEFT JOIN entries p ON p.id = e.parent
WHERE e.state = 'waiting' AND (e.parent IS NULL OR p.state = 'done')
ORDER BY e.id;
