-- What came of a token, in the transaction that consumed it.
--
-- {{1}} result  {{2}} digest
UPDATE {{table}} SET result = {{1}} WHERE digest = {{2}}
