-- What must hold beyond what SQLite checks itself; each row names what does
-- not. Promise 1: no fence beyond the greatest one given. Promise 9: no claim
-- after the latest time the clock has shown.
WITH seen AS (
  SELECT COUNT(*) AS records,
         COALESCE(MAX(fence), 0) AS fence,
         COALESCE(MAX(claimed_at_ms), 0) AS claimed_at_ms,
         COALESCE(SUM(sweep_at_ms > expires_at_ms), 0) AS swept_late,
         COALESCE(SUM(LENGTH(digest) <> 32), 0) AS short_digests
  FROM {record}
)
SELECT '{meta}.count is ' || {meta}.count || ', but there are ' || seen.records || ' records'
FROM {meta}, seen WHERE {meta}.count <> seen.records
UNION ALL
SELECT '{meta}.fence is ' || {meta}.fence || ', but a record has ' || seen.fence
FROM {meta}, seen WHERE {meta}.fence < seen.fence
UNION ALL
SELECT '{meta}.clock_ms is ' || {meta}.clock_ms || ', but a claim was made at ' || seen.claimed_at_ms
FROM {meta}, seen WHERE {meta}.clock_ms < seen.claimed_at_ms
UNION ALL
SELECT seen.swept_late || ' records expire before they are swept'
FROM seen WHERE seen.swept_late > 0
UNION ALL
SELECT seen.short_digests || ' digests do not have 32 bytes'
FROM seen WHERE seen.short_digests > 0
UNION ALL
SELECT '{meta} has no row'
WHERE NOT EXISTS (SELECT 1 FROM {meta})
