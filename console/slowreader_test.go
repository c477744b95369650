package console_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/console"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/store/memstore"
)

// pipes is a listener whose connections hold nothing: what is written waits until it is read.
type pipes chan net.Conn

// Accept implements net.Listener.
func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (pipes) Close() error { return nil }

// Addr implements net.Listener.
func (pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// ask sends a request on a connection of its own, and reads the status and the cookie of the answer.
func (p pipes) ask(t *testing.T, method, path, cookie, form string) (conn net.Conn, status int, got string) {
	t.Helper()
	near, far := net.Pipe()
	p <- far
	_, err := fmt.Fprintf(near, "%s %s HTTP/1.1\r\nHost: h\r\nCookie: %s\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s",
		method, path, cookie, len(form), form)
	noError(t, err)
	answer, err := http.ReadResponse(bufio.NewReaderSize(near, 16), nil) //nolint:bodyclose // the end of a stream would be waited for.
	noError(t, err)
	got, _, _ = strings.Cut(answer.Header.Get("Set-Cookie"), ";")
	return near, answer.StatusCode, got
}

// Promise 8: followers that stop reading are cut off, and make room for others.
func TestLiveReaderThatStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		guard := must.Get(semel.New(store, &semel.Options{SweepEvery: -1}))
		api := must.Get(adminapi.New(guard, &adminapi.Options{Tokens: []adminapi.Token{must.Get(adminapi.NewToken("alice", aliceToken, false))}}))
		pages := must.Get(console.New(guard, console.Options{API: api, History: console.NewHistory(func() console.Counts { return console.Counts{} })}))
		server := &http.Server{Handler: pages, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute}
		listener := make(pipes)
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()

		conn, _, cookie := listener.ask(t, http.MethodPost, "/console/login", "", url.Values{"token": {aliceToken}}.Encode())
		noError(t, conn.Close())
		var stopped []net.Conn
		for range 8 { // as many as an operator may have
			conn, status, _ := listener.ask(t, http.MethodGet, "/console/live", cookie, "")
			if status != http.StatusOK {
				t.Fatalf("a follower: got status %d", status)
			}
			stopped = append(stopped, conn)
		}
		if _, status, _ := listener.ask(t, http.MethodGet, "/console/live", cookie, ""); status != http.StatusServiceUnavailable {
			t.Errorf("one more: got status %d", status)
		}
		time.Sleep(time.Minute) // without reading an event
		for _, conn := range stopped {
			if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("a minute later: read %d bytes, %v; want the connection closed", n, err)
			}
		}
		conn, status, _ := listener.ask(t, http.MethodGet, "/console/live", cookie, "")
		if status != http.StatusOK {
			t.Errorf("after them: got status %d", status)
		}
		noError(t, conn.Close())
		close(listener)
		<-served
		noError(t, errors.Join(server.Close(), guard.Close(), store.Close()))
	})
}
