-- Promise 4: the records of transactions that share a commit, with the outcomes
-- of their work. Promise 1: the unique key decides; a digest that has a row, or
-- is being claimed, is an error here, which undoes all.
INSERT INTO {{record}} (
  digest, state, kept, attempt, owner, fingerprint,
  claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome
) VALUES {{rows}}
