-- One record by its digest, and the latest time the store's clock has shown,
-- which belongs to the same snapshot (promise 9). No row means absent.
--
-- ?1 digest
SELECT fence, digest, state, attempt, owner, fingerprint,
       claimed_at_ms, settled_at_ms, lease_until_ms, expires_at_ms,
       kept, scope, name, note, outcome,
       (SELECT clock_ms FROM {meta} WHERE id = 1)
FROM {record}
WHERE digest = ?1
