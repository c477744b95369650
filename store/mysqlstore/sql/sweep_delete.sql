-- What has expired is removed. Every other verb took it for absent before, so
-- nothing changes for them. Rows are locked one by one, by the primary key.
--
-- ? fence, …  ? grace_ms
DELETE FROM {{record}}
WHERE fence IN ({{values}}) AND expires_ms <= {{now}} AND claimed_ms + ? <= {{now}}
