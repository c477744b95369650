package main

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// wire counts what clients send: a write is about a round trip, because the drivers gather what travels together.
type wire struct {
	writes, bytes atomic.Int64
}

// dial is for the drivers' dialers.
func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: conn, wire: w}, nil
}

type countedConn struct {
	net.Conn
	wire *wire
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.wire.writes.Add(1)
	c.wire.bytes.Add(int64(len(p)))
	return c.Conn.Write(p)
}
