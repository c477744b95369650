package faulty

import (
	"bytes"
	"errors"
	"io"
	"net"
)

// lenient returns a listener whose connections replace each control byte in the head of their first request by an
// underscore.
func lenient(inner net.Listener) net.Listener {
	return wrapping{inner, func(conn net.Conn) net.Conn { return &replacingConn{Conn: conn} }}
}

// generous returns a listener whose connections complete the head of their first request if it was cut.
func generous(inner net.Listener) net.Listener {
	return wrapping{inner, func(conn net.Conn) net.Conn { return &completingConn{Conn: conn} }}
}

// wrapping wraps the connections that it accepts.
type wrapping struct {
	net.Listener

	wrap func(net.Conn) net.Conn
}

// Accept implements [net.Listener].
func (l wrapping) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.wrap(conn), nil
}

// completingConn is read by one goroutine at a time.
type completingConn struct {
	net.Conn

	head []byte
	body bool // the head is over
}

// Read implements [net.Conn].
func (c *completingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.body {
		return n, err
	}
	c.head = append(c.head, p[:n]...)
	c.body = bytes.Contains(c.head, []byte("\r\n\r\n"))
	if !c.body && n == 0 && errors.Is(err, io.EOF) && bytes.HasSuffix(c.head, []byte("\r\n")) {
		c.body = true
		return copy(p, "\r\n"), nil
	}
	return n, err
}

// replacingConn is read by one goroutine at a time.
type replacingConn struct {
	net.Conn

	body bool // the head is over
}

// Read implements [net.Conn].
func (c *replacingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.body {
		return n, err
	}
	head := p[:n]
	if end := bytes.Index(head, []byte("\r\n\r\n")); end >= 0 {
		head, c.body = head[:end], true
	}
	for i, b := range head {
		if b == 1 {
			head[i] = '_'
		}
	}
	return n, err
}
