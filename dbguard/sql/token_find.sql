-- Why a token could not be consumed, and what came of it.
--
-- {{1}} digest
SELECT consumed_us, result FROM {{table}} WHERE digest = {{1}}
