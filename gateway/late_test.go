package gateway_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestNothingFollowsOnAConnectionWithABodyOverdue (promise 5): an upstream that declares a body where none may be can still send it,
// and it would be taken for the answer to the next request on that connection.
func TestNothingFollowsOnAConnectionWithABodyOverdue(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ method, head string }{
		"204":            {http.MethodPost, "204 No Content\r\nContent-Length: 12"},
		"204, chunked":   {http.MethodPost, "204 No Content\r\nTransfer-Encoding: chunked"},
		"204 to GET":     {http.MethodGet, "204 No Content\r\nContent-Length: 12"},
		"304":            {http.MethodPost, "304 Not Modified\r\nContent-Length: 12"},
		"HEAD":           {http.MethodHead, "200 OK\r\nContent-Length: 12"},
		"304 to its GET": {http.MethodGet, "304 Not Modified\r\nContent-Length: 12"},
	} {
		for _, way := range ways() {
			t.Run(name+" "+way, func(t *testing.T) {
				t.Parallel()
				d := openVia(t, way, rawUpstream(t, func(conn net.Conn, br *bufio.Reader) {
					late := false
					for {
						r, err := http.ReadRequest(br)
						if err != nil {
							return
						}
						body := "own"
						if late {
							body = "stray"
						}
						if r.URL.Path == "/late" {
							late = true
							fmt.Fprintf(conn, "HTTP/1.1 %s\r\n\r\n", tt.head)
							continue
						}
						fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
					}
				}), nil)
				header := []string{"Idempotency-Key", "k1"}
				if tt.method == http.MethodGet {
					header = []string{"If-None-Match", `"v1"`}
				}
				d.send(t, tt.method, "/late", "", header...)
				for i := range 100 { // a closed connection may still be tried: nothing was sent then
					got := d.send(t, http.MethodPost, "/orders", "a=1", "Idempotency-Key", fmt.Sprintf("own%d", i))
					if got.status == http.StatusBadGateway && strings.Contains(got.body, "upstream-unreachable") {
						continue
					}
					if got.status != http.StatusOK || got.body != "own" {
						t.Errorf("got %d %q", got.status, got.body)
					}
					return
				}
				t.Error("no answer came")
			})
		}
	}
}
