-- The number of the last script that was run.
SELECT coalesce(max(m.version), -1) FROM {{schema}}.migration m
