-- Remembers a fence unless a greater one was seen, and locks the row until the
-- transaction ends either way. Which of the two it was, fence_seen_mysql.sql
-- says.
--
-- ? resource  ? fence
INSERT INTO {{table}} (resource, fence) VALUES (?, ?)
ON DUPLICATE KEY UPDATE fence = GREATEST(fence, VALUES(fence))
