-- Why a token could not be consumed, and what came of it. A locking read: a
-- plain one shows the transaction's snapshot, in which it was not yet consumed.
--
-- ? digest
SELECT consumed_us, result FROM {{table}} WHERE digest = ? LOCK IN SHARE MODE
