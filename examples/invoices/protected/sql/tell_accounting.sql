-- Leaves a message for the accounting service, in the same transaction as its row.
INSERT INTO accounting (subject, subject_id) VALUES (?, ?);
