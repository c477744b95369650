package wire_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel/check/wire"
)

// service starts a server that answers each raw connection with one call, and returns its URL.
func service(t *testing.T, answer func(net.Conn)) *url.URL {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(20 * time.Second)) // so that no test hangs for ever
				answer(conn)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		all.Wait()
	})
	return &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: "/things"}
}

// says reads a request head, sends the text, and closes.
func says(text string) func(net.Conn) {
	return func(conn net.Conn) {
		in := bufio.NewReader(conn)
		readHead(in)
		io.WriteString(conn, text)
	}
}

// readHead reads up to the empty line.
func readHead(in *bufio.Reader) string {
	var head string
	for {
		line, err := in.ReadString('\n')
		head += line
		if err != nil || line == "\r\n" {
			return head
		}
	}
}

// recorder starts a service that records the bytes of its first connection, until the client closes or pauses, and
// answers 201.
func recorder(t *testing.T) (at *url.URL, received <-chan string) {
	t.Helper()
	kept := make(chan string, 1)
	return service(t, func(conn net.Conn) {
		all, _ := io.ReadAll(conn)
		kept <- string(all)
	}), kept
}

// server starts a service of net/http.
func server(t *testing.T, handler http.HandlerFunc) *url.URL {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return parse(t, s.URL)
}

// tlsServer starts one over TLS, and returns a configuration that trusts it.
func tlsServer(t *testing.T, handler http.HandlerFunc) (*url.URL, *tls.Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	t.Cleanup(s.Close)
	transport, ok := s.Client().Transport.(*http.Transport)
	if !ok {
		t.Fatal("the client of the test server has another transport")
	}
	return parse(t, s.URL), transport.TLSClientConfig
}

func parse(t *testing.T, text string) *url.URL {
	t.Helper()
	at, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func post(at *url.URL, body string) *wire.Request {
	return &wire.Request{Method: "POST", URL: at, Body: []byte(body)}
}
