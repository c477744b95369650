-- claim.sql for many digests in one commit: a row that is there already stays
-- as it is, and does not stop the others. The rows show which claims were won.
{{claim}} ON DUPLICATE KEY UPDATE note = note
