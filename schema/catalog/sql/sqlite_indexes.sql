-- Indexes of one table, one row for each key part; cid is -2 for an expression.
-- semel:safe it only reads
SELECT l.name, l."unique", l.origin, l.partial, p.seqno, p.cid, coalesce(p.name, ''), p."desc", p.coll
FROM pragma_index_list(?1, ?2) AS l
JOIN pragma_index_xinfo(l.name, ?2) AS p ON p.key = 1
ORDER BY l.name, p.seqno
