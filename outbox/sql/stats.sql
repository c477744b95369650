SELECT COALESCE(SUM(CASE WHEN h.state = 'waiting' THEN 1 ELSE 0 END), 0),
  COALESCE(SUM(CASE WHEN h.state = 'stopped' THEN 1 ELSE 0 END), 0),
  COALESCE(SUM(CASE WHEN h.state = 'skipped' THEN 1 ELSE 0 END), 0),
  COALESCE(MAX(CASE WHEN h.state = 'waiting' THEN {{now}} - (SELECT MIN(m.added_ms) FROM {{table}} m WHERE m.part = -h.hold) END), 0)
FROM {{hold}} h
