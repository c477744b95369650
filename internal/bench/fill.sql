-- Live, completed records with the fences ?1 to ?2, claimed at ?3, expiring at ?4.
INSERT INTO records (fence, digest, state, attempt, owner, fingerprint, claimed_at_ms, settled_at_ms, lease_until_ms,
                     expires_at_ms, sweep_at_ms, kept, scope, name, note, outcome)
WITH RECURSIVE n (fence) AS (SELECT ?1 UNION ALL SELECT fence + 1 FROM n WHERE fence < ?2)
SELECT fence, randomblob(32), 'completed', 1, randomblob(16), randomblob(32), ?3, ?3, ?3 + 30000,
       ?4, ?4, 1, 'tenant-7 POST /invoices', 'filler ' || fence, '', zeroblob(200)
  FROM n;
