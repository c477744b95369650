package testserver

import (
	"testing"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// Proxy connects clients to a server and breaks their connections.
type Proxy = dbserver.Proxy

// NewProxy passes connections on to host:port until the test ends.
func NewProxy(tb testing.TB, upstream string) *Proxy {
	tb.Helper()
	p, err := dbserver.OpenProxy(upstream, func(err error) { tb.Error(err) })
	require(tb, err)
	tb.Cleanup(p.Close)
	return p
}
