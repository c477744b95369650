-- What the store relies on in the server. A variable that one of MySQL and
-- MariaDB does not have is left out of the answer.
SHOW VARIABLES WHERE Variable_name IN (
  'version', 'autocommit', 'completion_type', 'transaction_isolation', 'tx_isolation', 'sql_select_limit', 'character_set_client', 'character_set_connection',
  'max_allowed_packet', 'auto_increment_increment',
  'read_only', 'super_read_only', 'innodb_read_only', 'transaction_read_only', 'tx_read_only',
  'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog'
)
