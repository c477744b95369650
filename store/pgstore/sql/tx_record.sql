-- Promise 4: the record of a transaction, committed with its rows. A transaction that has
-- the key by now makes this fail, and the transaction with it (promise 1).
--
-- Fences of a digest grow ("Fences" in doc.go): a claim that is so old that a
-- younger one may have come and gone without a trace is given another fence.
--
-- Work that has ended the transaction and begun another one, all by SQL, holds
-- the lock no more, and has committed or lost its rows: then there is an error.
--
-- $1 digest  $2 fence  $3 state  $4 kept  $5 owner  $6 fingerprint
-- $7 when it was claimed  $8 retention  $9 scope  $10 name  $11 note  $12 outcome
-- $13 when the transaction began, or NULL for none
INSERT INTO {{schema}}.record (
  digest, fence, state, kept, awaited, attempt, owner, fingerprint,
  claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome
)
SELECT $1,
       CASE WHEN transaction_timestamp() <> $13 THEN clock.ms / 0
            WHEN clock.ms < $7 + {{grace}} / 2 THEN $2
            ELSE nextval({{sequence}}) END,
       $3, $4, false, 1, $5, $6,
       $7, clock.ms, $7, clock.ms + $8, greatest(clock.ms + $8, $7 + {{grace}}), $9, $10, $11, $12
FROM (SELECT {{now}} AS ms) clock
