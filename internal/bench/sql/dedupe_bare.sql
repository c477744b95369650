CREATE TABLE plan (loser bigint PRIMARY KEY, winner bigint NOT NULL, done boolean NOT NULL DEFAULT false);
CREATE PROCEDURE merge_batches(size int, keep boolean) LANGUAGE plpgsql AS $$
BEGIN
  LOOP
    CREATE TEMP TABLE batch ON COMMIT DROP AS SELECT loser, winner FROM plan WHERE NOT done ORDER BY winner, loser LIMIT size;
    EXIT WHEN NOT EXISTS (SELECT 1 FROM batch);
    PERFORM 1 FROM invoice WHERE id IN (SELECT loser FROM batch UNION ALL SELECT winner FROM batch) ORDER BY id FOR UPDATE;
    IF keep THEN
      INSERT INTO audit (tbl, pk, whole) SELECT 'invoice', i.id, to_jsonb(i) FROM invoice AS i WHERE i.id IN (SELECT loser FROM batch UNION ALL SELECT winner FROM batch);
    END IF;
    WITH moved AS (UPDATE payment AS p SET invoice_id = b.winner FROM batch AS b WHERE p.invoice_id = b.loser RETURNING p.id, b.loser, b.winner)
      INSERT INTO audit (tbl, pk, col, o, n) SELECT 'payment', id, 'invoice_id', loser, winner FROM moved;
    CREATE TEMP TABLE met ON COMMIT DROP AS
      SELECT l.id, l.invoice_id, g.winner, first_value(l.id) OVER (PARTITION BY g.winner, l.pos ORDER BY g.member <> g.winner, l.id) AS stays
      FROM (SELECT loser AS member, winner FROM batch UNION SELECT winner, winner FROM batch) AS g JOIN line AS l ON l.invoice_id = g.member AND l.merged_into IS NULL;
    IF keep THEN
      INSERT INTO audit (tbl, pk, whole) SELECT 'line', l.id, to_jsonb(l) FROM met AS m JOIN line AS l ON l.id = m.id;
    END IF;
    WITH marked AS (UPDATE line AS l SET merged_into = m.stays FROM met AS m WHERE l.id = m.id AND m.id <> m.stays RETURNING l.id, m.stays)
      INSERT INTO audit (tbl, pk, col, o, n) SELECT 'line', id, 'merged_into', NULL, stays FROM marked;
    WITH moved AS (UPDATE line AS l SET invoice_id = m.winner FROM met AS m WHERE l.id = m.id AND m.id = m.stays AND m.invoice_id <> m.winner RETURNING l.id, m.invoice_id, m.winner)
      INSERT INTO audit (tbl, pk, col, o, n) SELECT 'line', id, 'invoice_id', invoice_id, winner FROM moved;
    WITH marked AS (UPDATE invoice AS i SET merged_into = b.winner FROM batch AS b WHERE i.id = b.loser RETURNING i.id, b.winner)
      INSERT INTO audit (tbl, pk, col, o, n) SELECT 'invoice', id, 'merged_into', NULL, winner FROM marked;
    UPDATE plan SET done = true WHERE loser IN (SELECT loser FROM batch);
    COMMIT;
  END LOOP;
END $$;
-- measured
INSERT INTO plan (loser, winner) SELECT id, winner FROM (SELECT id, first_value(id) OVER (PARTITION BY tenant, number ORDER BY created_at, id) AS winner FROM invoice WHERE merged_into IS NULL) AS g WHERE id <> winner;
CREATE INDEX ON plan (winner, loser) WHERE NOT done;
ANALYZE plan;
CALL merge_batches(1000, {keep})
