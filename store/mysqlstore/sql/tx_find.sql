-- find.sql for one digest, as others have committed it, whatever the
-- transaction has read before: it waits for the transaction that holds the
-- digest.
--
-- ? digest
SELECT {{columns}} FROM {{record}} WHERE digest = ? LOCK IN SHARE MODE
