package testserver

import (
	"testing"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// PostgresOptions are the options of [StartPostgres].
type PostgresOptions = dbserver.PostgresOptions

// StandbyOptions are the options of [PostgresServer.Standby].
type StandbyOptions = dbserver.StandbyOptions

// PostgresServer is a PostgreSQL server that belongs to one test.
type PostgresServer struct{ *life[*dbserver.Postgres] }

// StartPostgres starts a PostgreSQL server for this test.
func StartPostgres(tb testing.TB, o *PostgresOptions) *PostgresServer {
	tb.Helper()
	used(tb, dbserver.EnvPostgres)
	s, err := servers(tb).Postgres(tb.Context(), o)
	return &PostgresServer{newLife(tb, s, err)}
}

// DSN is the URL of the database postgres, for its superuser. It stays the same over restarts.
func (s *PostgresServer) DSN() string { return s.server.DSN() }

// Standby starts a server that follows this one, and waits until it streams.
func (s *PostgresServer) Standby(o *StandbyOptions) *PostgresServer {
	s.tb.Helper()
	follower, err := s.server.Standby(s.tb.Context(), o)
	return &PostgresServer{newLife(s.tb, follower, err)}
}

// Promote makes a standby a primary of its own and waits until it is one.
func (s *PostgresServer) Promote() { s.must(s.server.Promote) }

// MySQLOptions are the options of [StartMySQL].
type MySQLOptions = dbserver.MySQLOptions

// MySQLServer is a MariaDB server that belongs to one test.
type MySQLServer struct{ *life[*dbserver.MySQL] }

// StartMySQL starts a MariaDB server for this test.
func StartMySQL(tb testing.TB, o *MySQLOptions) *MySQLServer {
	tb.Helper()
	used(tb, dbserver.EnvMySQL)
	s, err := servers(tb).MySQL(tb.Context(), o)
	return &MySQLServer{newLife(tb, s, err)}
}

// DSN is the DSN of root, without a database. It stays the same over restarts.
func (s *MySQLServer) DSN() string { return s.server.DSN() }

// PgBouncerServer is a pool of connections that belongs to one test.
type PgBouncerServer struct{ *life[*dbserver.PgBouncer] }

// StartPgBouncer starts a pool for this test, in front of the PostgreSQL server with this URL: session, transaction or
// statement.
func StartPgBouncer(tb testing.TB, upstream, mode string) *PgBouncerServer {
	tb.Helper()
	used(tb, dbserver.EnvPostgres)
	s, err := servers(tb).PgBouncer(tb.Context(), upstream, mode)
	return &PgBouncerServer{newLife(tb, s, err)}
}

// DSN is the URL of the same database through the pool.
func (s *PgBouncerServer) DSN() string { return s.server.DSN() }
