-- Remembers a fence unless a greater one was seen, and locks the row until the
-- transaction ends either way. No row affected: it was refused.
--
-- {{1}} resource  {{2}} fence
INSERT INTO {{table}} AS f (resource, fence) VALUES ({{1}}, {{2}})
ON CONFLICT (resource) DO UPDATE SET fence = excluded.fence WHERE f.fence <= excluded.fence
