-- The greatest fence of a resource, whatever the transaction's snapshot shows.
--
-- ? resource
SELECT fence FROM {{table}} WHERE resource = ? FOR UPDATE
