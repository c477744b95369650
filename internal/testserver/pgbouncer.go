package testserver

import (
	"testing"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// PgBouncerServer is a pool of connections that belongs to one test.
type PgBouncerServer struct {
	*life

	server *dbserver.PgBouncer
}

// StartPgBouncer starts a pool for this test, in front of the PostgreSQL server with this URL: session, transaction or
// statement.
func StartPgBouncer(tb testing.TB, upstream, mode string) *PgBouncerServer {
	tb.Helper()
	h, err := home()
	require(tb, err)
	s, err := h.PgBouncer(tb.Context(), upstream, mode)
	require(tb, err)
	return &PgBouncerServer{life: newLife(tb, s), server: s}
}

// DSN is the URL of the same database through the pool.
func (s *PgBouncerServer) DSN() string { return s.server.DSN() }
