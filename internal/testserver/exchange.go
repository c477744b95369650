package testserver

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Exchange sends bytes on one connection to the server at a URL of the scheme http, and returns the statuses of its answers,
// until it closes the connection.
func Exchange(tb testing.TB, url, text string) (statuses []int) {
	tb.Helper()
	conn, err := new(net.Dialer).DialContext(tb.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err == nil {
		defer conn.Close() //nolint:errcheck // all answers are read.
		err = conn.SetDeadline(time.Now().Add(time.Minute))
	}
	if err != nil {
		tb.Fatal(err)
	}
	go func() { _, _ = io.WriteString(conn, text) }()
	in := bufio.NewReader(conn)
	for {
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			return statuses
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if statuses = append(statuses, res.StatusCode); res.Close {
			return statuses
		}
	}
}
