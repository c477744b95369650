-- The rows of digests, released and expired ones included, with the
-- database's clock (promise 9).
--
-- ? digest, …
SELECT {{columns}} FROM {{record}} WHERE digest IN ({{values}})
