//go:build !linux

package gateway

import (
	"net"
	"syscall"
)

// knowsQuiet: without it, net/http's transport keeps the connections to the application.
const knowsQuiet = false

// quiet reports whether a connection is open, and nothing has come on it.
func quiet(syscall.RawConn) bool { return false }

// hungUp reports whether the other end of a TCP connection has closed it: here
// only net/http can tell.
func hungUp(net.Conn) bool { return false }
