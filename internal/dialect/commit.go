package dialect

import (
	"slices"
	"strings"
)

// CommitUnknown reports whether the transaction may have been committed although COMMIT
// returned err, an error of any driver: no answer came, the server went away, failed or was
// interrupted in the middle, or it says that it does not know.
func CommitUnknown(err error) bool {
	r, answered := Refused(err)
	switch {
	case !answered:
		return true
	case r.Dialect == PostgreSQL:
		return unknownToPostgres(r.State)
	case r.Dialect == MySQL:
		return unknownToMySQL(r.Number)
	}
	return false
}

// unknownToPostgres takes an SQLSTATE of PostgreSQL or CockroachDB. A serialization
// failure (40001) is clean: everything was rolled back.
func unknownToPostgres(state string) bool {
	return state == "" || slices.ContainsFunc([]string{
		"08",    // the connection; 08007 is transaction_resolution_unknown
		"40003", // statement_completion_unknown: CockroachDB's ambiguous result
		"57P",   // terminated by an operator, a crash, a dropped database
		"58",    // input and output; in CockroachDB an unavailable range, a connection lost inside the cluster
		"XX",    // internal; CockroachDB's XXA00 means committed, but a schema change failed
	}, func(begin string) bool { return strings.HasPrefix(state, begin) })
}

// unknownToMySQL takes an error number of MySQL or MariaDB.
func unknownToMySQL(number int) bool {
	switch number {
	case 1026, 1598, // MySQL: the binary log, or its copy on a replica
		1053,       // shutdown
		1180,       // the commit itself
		1317,       // KILL QUERY
		1927, 1969, // MariaDB: KILL, max_statement_time
		3100: // MySQL: a plugin of replication failed around the commit
		return true
	}
	return number/1000 == 2 // libmysql's numbers: a proxy such as ProxySQL has lost its server
}
