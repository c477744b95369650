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

// pipes is a listener whose connections hold nothing: what is written waits until it is read.
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

// servesOperators serves the admin address of a gateway, and calls test with a function that connects to it.
func servesOperators(t *testing.T, test func(connect func() net.Conn)) {
	t.Helper()
	records := memstore.New(nil)
	config := &gateway.Config{Upstream: "http://127.0.0.1:1", Store: records, Guard: semel.Options{SweepEvery: -1}}
	withTokens(t, config)
	g := must.Get(gateway.New(config))
	front, admin := &pipes{make(chan net.Conn)}, &pipes{make(chan net.Conn)}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, front, admin) }()
	test(func() net.Conn {
		near, far := net.Pipe()
		admin.callers <- far
		return near
	})
	stop()
	if err := errors.Join(<-done, records.Close()); err != nil {
		t.Error(err)
	}
}

// TestAdminReaderThatStops (promise 8): a client of the admin address that does not read its answer is cut off.
func TestAdminReaderThatStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		servesOperators(t, func(connect func() net.Conn) {
			near := connect()
			if _, err := io.WriteString(near, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour) // of a reader that reads nothing
			if n, err := near.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("an hour later: read %d bytes, %v; want the connection closed", n, err)
			}
			_ = near.Close()
		})
	})
}

// TestAdminWriterThatDrips (promise 8): a client without a token keeps no connection of the admin address, not even one that
// sends a byte now and then.
func TestAdminWriterThatDrips(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{
		"header":        "GET /console/ HTTP/1.1\r\nHost: h\r\nX-Slow: ",
		"log in":        "POST /console/login HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 60000\r\n\r\ntoken=",
		"API":           "POST /v1/records/x/resolve HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{",
		"chunks":        "POST /console/login HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n",
		"event stream":  "GET /console/live HTTP/1.1\r\nHost: h\r\nContent-Length: 60000\r\n\r\n",
		"after another": "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\nGET /healthz HTTP/1.1\r\nHost: h\r\nX-Slow: ",
		"nothing":       "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				servesOperators(t, func(connect func() net.Conn) {
					near := connect()
					read := make(chan struct{})
					go func() {
						defer close(read)
						_, _ = io.Copy(io.Discard, near) // until the gateway closes it
					}()
					begun, _ := io.WriteString(near, begin)
					dripped := 0
					for ; begun == len(begin) && dripped < 3600; dripped++ {
						time.Sleep(time.Second)
						if _, err := io.WriteString(near, "a"); err != nil {
							break
						}
					}
					if dripped == 3600 {
						t.Error("the connection is still open after an hour")
					}
					_ = near.Close()
					<-read
				})
			})
		})
	}
}
