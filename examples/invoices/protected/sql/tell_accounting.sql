-- Leaves a message for the accounting service, beside the row that it is about.
INSERT INTO accounting (subject, subject_id) VALUES (?, ?);
