-- Promise 1: a row that is absent to every verb makes room for a claim, in one
-- transaction with it, so that no caller sees the digest without a row. Fences
-- of one digest grow: the claim takes its fence after this row is locked.
--
-- ? fence  ? digest
DELETE FROM {{record}}
WHERE fence = ? AND digest = ? AND (state = 'released' OR expires_ms <= {{now}})
