-- What the server is, and the settings that a promise rests on: 2 and 7
-- (synchronous_commit, synchronous_standby_names, fsync), 9 (its clock is the one that counts).
SELECT current_setting('server_version_num')::integer,
       version(),
       pg_is_in_recovery(),
       current_setting('default_transaction_read_only')::boolean,
       current_setting('server_encoding'),
       coalesce(current_setting('synchronous_commit', true), 'on'),
       current_setting('default_transaction_isolation'),
       coalesce(current_setting('fsync', true)::boolean, true),
       coalesce(current_setting('synchronous_standby_names', true), '')
