-- Promise 1: one live claim per digest. The unique key decides; a digest that
-- has a row already is an error here, and nothing is written. The fence is the
-- table's counter, taken when the statement begins.
INSERT INTO {{record}} (
  digest, state, kept, attempt, owner, fingerprint,
  claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note
) VALUES {{rows}}
