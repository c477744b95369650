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

// Disk is the disk of a server, whose syncs a test holds up.
type Disk = dbserver.Disk

// NewDisk makes a disk that syncs.
func NewDisk(tb testing.TB) *Disk {
	tb.Helper()
	d, err := servers(tb).Disk(tb.Context())
	require(tb, err)
	return d
}

// Clock is a clock of servers that a test moves.
type Clock = dbserver.Clock

// NewClock makes a clock that is as the machine's until it is set.
func NewClock(tb testing.TB) *Clock {
	tb.Helper()
	c, err := servers(tb).Clock()
	require(tb, err)
	return c
}
