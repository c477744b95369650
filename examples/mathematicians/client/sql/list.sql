SELECT e.ref, e.kind, coalesce(p.ref, ''), e.body, coalesce(e.unique_id, ''), e.state, e.reason
FROM entries e LEFT JOIN entries p ON p.id = e.parent
ORDER BY e.id;
