-- Promise 1: a claim that was held up may have got its fence before others got
-- greater ones for the digest. It makes room for another, with a fence that is
-- taken while the digest is locked.
--
-- ? fence  ? digest
DELETE FROM {{record}}
WHERE fence = ? AND digest = ? AND state = 'claimed'
