-- The rows that are due, the most overdue first, with when each really is: a
-- row stays for a while after its claim, until no statement can still be about to
-- insert an older fence for the digest (promise 1).
--
-- ? grace_ms  ? limit
SELECT fence, GREATEST(expires_ms, claimed_ms + ?) <= {{now}}
FROM {{record}} FORCE INDEX (sweep)
WHERE sweep_ms <= {{now}}
ORDER BY sweep_ms
LIMIT ?
