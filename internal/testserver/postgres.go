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
type PostgresServer struct {
	*life

	server *dbserver.Postgres
}

// StartPostgres starts a PostgreSQL server for this test.
func StartPostgres(tb testing.TB, o *PostgresOptions) *PostgresServer {
	tb.Helper()
	h, err := home()
	require(tb, err)
	s, err := h.Postgres(tb.Context(), o)
	return postgresServer(tb, s, err)
}

func postgresServer(tb testing.TB, s *dbserver.Postgres, err error) *PostgresServer {
	tb.Helper()
	require(tb, err)
	return &PostgresServer{life: newLife(tb, s), server: s}
}

// DSN is the URL of the database postgres, for its superuser. It stays the same over restarts.
func (s *PostgresServer) DSN() string { return s.server.DSN() }

// Standby starts a server that follows this one, and waits until it streams.
func (s *PostgresServer) Standby(o *StandbyOptions) *PostgresServer {
	s.tb.Helper()
	follower, err := s.server.Standby(s.tb.Context(), o)
	return postgresServer(s.tb, follower, err)
}

// Promote makes a standby a primary of its own and waits until it is one.
func (s *PostgresServer) Promote() { s.must(s.server.Promote) }
