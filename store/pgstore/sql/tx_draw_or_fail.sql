-- tx_draw.sql, but with an error when there is a row, so that the statements
-- behind it in the same round trip do not run. The text is for the server's
-- log; a known intent is not a fault.
--
-- $1 digest
-- semel:safe a fence that is drawn for nothing is left out
SELECT nextval({{sequence}}), {{now}}, transaction_timestamp(),
  (CASE WHEN EXISTS (SELECT FROM {{schema}}.record r WHERE r.digest = $1)
        THEN 'semel: this intent is known already, which is no fault' ELSE 't' END)::boolean
