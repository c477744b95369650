package testserver

import (
	"testing"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// MySQLOptions are the options of [StartMySQL].
type MySQLOptions = dbserver.MySQLOptions

// MySQLServer is a MariaDB server that belongs to one test.
type MySQLServer struct {
	*life

	server *dbserver.MySQL
}

// StartMySQL starts a MariaDB server for this test.
func StartMySQL(tb testing.TB, o *MySQLOptions) *MySQLServer {
	tb.Helper()
	h, err := home()
	require(tb, err)
	s, err := h.MySQL(tb.Context(), o)
	require(tb, err)
	return &MySQLServer{life: newLife(tb, s), server: s}
}

// DSN is the DSN of root, without a database. It stays the same over restarts.
func (s *MySQLServer) DSN() string { return s.server.DSN() }
