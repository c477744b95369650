package testserver

import (
	"testing"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// Proxy stands between clients and a server and breaks what is between them.
type Proxy = dbserver.Proxy

// NewProxy passes connections on to host:port until the test ends.
func NewProxy(tb testing.TB, upstream string) *Proxy {
	tb.Helper()
	p, err := dbserver.OpenProxy(upstream, func(err error) { tb.Error(err) })
	require(tb, err)
	tb.Cleanup(p.Close)
	return p
}
