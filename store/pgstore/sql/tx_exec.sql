-- Promise 4: a statement of the caller's and the record of what it returned, in
-- one statement and one round trip, which commits both or neither.
--
-- A holder of the key makes it fail by the index (promise 1), and so does an
-- answer of two rows. No row, an outcome that is too large, and a statement
-- that stalled ("Fences" in doc.go) end in fence / 0.
--
-- {{1}} digest  {{2}} owner  {{3}} fingerprint  {{4}} retention  {{5}} scope
-- {{6}} name  {{7}} the largest outcome that is kept, in bytes
WITH answer AS (
{{statement}}
)
INSERT INTO {{schema}}.record AS r (
  digest, fence, state, kept, awaited, attempt, owner, fingerprint,
  claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome
)
SELECT {{1}}::bytea, nextval({{sequence}}), 'completed', true, false, 1, {{2}}::bytea, {{3}}::bytea,
       clock.ms, clock.ms, clock.ms, clock.ms + {{4}}::bigint, clock.ms + greatest({{4}}::bigint, {{grace}}), {{5}}::text, {{6}}::text, '',
       convert_to('{"semel":1,"value":' || row_to_json(answer)::text || '}', 'UTF8')
FROM (SELECT {{now}} AS ms) clock
LEFT JOIN answer ON true
RETURNING r.fence, r.outcome,
  CASE WHEN octet_length(r.outcome) <= {{7}}::bigint AND clock_timestamp() - statement_timestamp() < {{patience}} THEN true
       ELSE r.fence / 0 > 0 END
