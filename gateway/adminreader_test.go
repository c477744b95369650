package gateway_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/store/memstore"
)

// pipes is a listener whose connections hold nothing: what is written waits
// until it is read.
type pipes struct{ callers chan net.Conn }

func (p *pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p.callers; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p *pipes) Close() error {
	defer func() { _ = recover() }() // a listener is closed more than once
	close(p.callers)
	return nil
}

func (*pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// TestAdminReaderThatStops (promise 8): a client of the admin address that does not
// read its answer is cut off.
func TestAdminReaderThatStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records := memstore.New(nil)
		g := must.Get(gateway.New(&gateway.Config{Upstream: "http://127.0.0.1:1", Store: records, Guard: semel.Options{SweepEvery: -1}}))
		front, admin := &pipes{make(chan net.Conn)}, &pipes{make(chan net.Conn)}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.Serve(ctx, front, admin) }()
		near, far := net.Pipe()
		admin.callers <- far
		if _, err := io.WriteString(near, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // of a reader that reads nothing
		if n, err := near.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("an hour later: read %d bytes, %v; want the connection closed", n, err)
		}
		_ = near.Close()
		stop()
		if err := errors.Join(<-done, records.Close()); err != nil {
			t.Error(err)
		}
	})
}
