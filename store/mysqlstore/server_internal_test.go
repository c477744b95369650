package mysqlstore

import (
	"maps"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel/store/internal/txn"
)

// Servers that are not here cannot be opened, but what they say of themselves is known.
func TestRefuse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		variables map[string]string
		readOnly  bool
		want      string
	}{
		{map[string]string{"version": "8.0.43"}, false, ""},
		{map[string]string{"version": "9.4.0-commercial"}, false, ""},
		{map[string]string{"version": "8.0.mysql_aurora.3.08.0"}, false, ""},
		{map[string]string{"version": "10.3.39-MariaDB"}, false, ""},
		{map[string]string{"version": "5.5.5-10.11.6-MariaDB-log"}, false, ""},
		{map[string]string{"version": "12.1.2-MariaDB"}, false, ""},
		{map[string]string{"version": "5.7.44-log"}, false, "MySQL 5.7.44-log, want at least 8.0.16"},
		{map[string]string{"version": "8.0.15"}, false, "do not enforce CHECK"},
		{map[string]string{"version": "8.0.16-log"}, false, ""},
		{map[string]string{"version": "8.4.0"}, false, ""},
		{map[string]string{"version": "10.2.44-MariaDB"}, false, "MariaDB 10.2.44-MariaDB, want at least 10.3"},
		{map[string]string{"version": "5.5.5-10.1.2-MariaDB"}, false, "want at least 10.3"},
		{map[string]string{"version": "8.0.11-TiDB-v8.5.0"}, false, "out of order"},
		{map[string]string{"version": "8.0.43", "super_read_only": "ON"}, false, "super_read_only is on"},
		{map[string]string{"version": "8.0.43", "innodb_read_only": "ON"}, false, "connect to the primary"},
		{map[string]string{"version": "11.8.2-MariaDB", "read_only": "NO_LOCK_NO_ADMIN"}, false, "read_only is on"},
		{map[string]string{"version": "8.0.43", "super_read_only": "ON"}, true, ""},
		{map[string]string{"version": "8.0.43", "transaction_isolation": "READ-UNCOMMITTED"}, true, "set transaction_isolation='READ-COMMITTED'"},
	} {
		srv := server{variables: map[string]string{"autocommit": "ON"}}
		maps.Copy(srv.variables, test.variables)
		srv.mariadb = strings.Contains(test.variables["version"], "MariaDB")
		err := srv.refuse(test.readOnly)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %q", test.variables, err, test.want)
		}
	}
}

// What a server of MySQL answers to a commit leaves it open whether the rows are there, unless it proves that they are not.
func TestEndingAsOnMySQL(t *testing.T) {
	t.Parallel()
	for number, want := range map[uint16]txn.End{
		errDeadlock: txn.RolledBack, errCertification: txn.RolledBack, errDuplicateEntry: txn.RolledBack, errReadOnlyMode: txn.RolledBack,
		1053: txn.Committed, 1317: txn.Committed, 2006: txn.Committed,
	} {
		if end, err := ending(&mysql.MySQLError{Number: number}); end != want || err == nil {
			t.Errorf("error %d: got end %v, error %v, want %v with the error", number, end, err, want)
		}
	}
}

// Known problems of servers that are not here are reported.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		variables map[string]string
		want      string
	}{
		{map[string]string{"innodb_flush_log_at_trx_commit": "1", "log_bin": "OFF", "sync_binlog": "0", "auto_increment_increment": "1"}, "log_bin"},
		{map[string]string{"innodb_flush_log_at_trx_commit": "3", "log_bin": "ON", "sync_binlog": "1"}, ""},
		{map[string]string{"innodb_flush_log_at_trx_commit": "0"}, "innodb_flush_log_at_trx_commit"},
		{map[string]string{"log_bin": "ON", "sync_binlog": "0"}, "sync_binlog"},
		{map[string]string{"log_bin": "ON", "sync_binlog": "100"}, "sync_binlog"},
		{map[string]string{"auto_increment_increment": "7"}, "auto_increment_increment"},
	} {
		found := (&server{variables: test.variables}).warnings()
		if len(found) > 1 || (len(found) == 0) != (test.want == "") || len(found) == 1 && found[0].variable != test.want {
			t.Errorf("%v: got %v, want %q", test.variables, found, test.want)
		}
	}
}

func TestReturning(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"10.5.0-MariaDB": true, "10.11.6-MariaDB": true, "10.4.34-MariaDB": false, "8.4.0": false} {
		srv := server{variables: map[string]string{"version": version}, mariadb: strings.Contains(version, "MariaDB")}
		if got := srv.returning(); got != want {
			t.Errorf("%s: got %v, want %v", version, got, want)
		}
	}
}
