package zoo

import (
	"bytes"
	"net"
)

// lenient is a listener whose connections have no control bytes in the head of
// their first request: an underscore stands for each.
func lenient(inner net.Listener) net.Listener { return mendingListener{inner} }

type mendingListener struct{ net.Listener }

// Accept implements [net.Listener].
func (l mendingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &mendingConn{Conn: conn}, nil
}

// mendingConn is read by one goroutine at a time.
type mendingConn struct {
	net.Conn

	body bool // the head is over
}

// Read implements [net.Conn].
func (c *mendingConn) Read(p []byte) (int, error) {
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
