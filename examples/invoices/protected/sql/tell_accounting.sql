-- Leaves a message for the accounting service, in the same transaction as its row.
-- semel:safe the row commits with the claim of its key
INSERT INTO accounting (subject, subject_id) VALUES (?, ?);
