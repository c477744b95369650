-- Completed records, as the store itself would have written them: $1 how many,
-- $2 when they expire (ms since 1970).
INSERT INTO record (digest, fence, state, kept, awaited, attempt, owner, fingerprint,
                    claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome)
SELECT sha256(int8send(n) || int8send($2::bigint)), nextval('fence'), 'completed', true, false, 1, '\x00112233445566778899aabbccddeeff', sha256(int8send(n)),
       $2::bigint - 86400000, $2::bigint - 86400000, $2::bigint - 86370000, $2::bigint, $2::bigint,
       'tenant-7 POST /invoices', 'filler ' || n, '', decode(repeat('00', 200), 'hex')
  FROM generate_series(1::bigint, $1::bigint) AS n
