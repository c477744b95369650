package gateway

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// tcpEstablished is TCP_ESTABLISHED of Linux's include/net/tcp_states.h.
const tcpEstablished = 1

// knowsQuiet: quiet knows.
const knowsQuiet = true

// quiet reports whether a connection is open, and nothing has come on it.
func quiet(raw syscall.RawConn) bool {
	if raw == nil {
		return false
	}
	none := false
	err := raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		none = errors.Is(err, unix.EAGAIN)
		return true
	})
	return err == nil && none
}

// hungUp reports whether the other end of a TCP connection has closed it, for
// all that the kernel knows.
func hungUp(conn net.Conn) bool {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		gone = err == nil && info.State != tcpEstablished
	})
	return err == nil && gone
}
