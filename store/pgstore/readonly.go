package pgstore

import (
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// leaveReadOnly ends a connection whose server refuses to write because it is a replica or was set read-only, so that the next step
// connects anew and finds the primary where the DSN leads to it. PostgreSQL 13 does not report the state; a transaction that its
// owner made read-only is left alone.
func leaveReadOnly(config *pgx.ConnConfig) {
	keeps := config.OnPgError
	config.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		if err.Code == codeReadOnly && (conn.ParameterStatus("in_hot_standby") == "on" || conn.ParameterStatus("default_transaction_read_only") == "on") {
			return false
		}
		return keeps == nil || keeps(conn, err)
	}
}
