package gateway_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/gateway"
)

// wire is an upstream that keeps what comes over each of its connections, and
// reads no more HTTP than it must: what is smuggled stays visible.
type wire struct {
	mu    sync.Mutex // guards conns
	conns []*strings.Builder
}

// serve reads requests as a naive server would: the header to its end, and as
// much body as Content-Length or chunks say. It understands h2c.
func (u *wire) serve(conn net.Conn, br *bufio.Reader) {
	text := &strings.Builder{}
	u.mu.Lock()
	u.conns = append(u.conns, text)
	u.mu.Unlock()
	add := func(s string) { u.mu.Lock(); text.WriteString(s); u.mu.Unlock() }
	for {
		var head strings.Builder
		for {
			line, err := br.ReadString('\n')
			add(line)
			head.WriteString(line)
			if err != nil {
				return
			}
			if line == "\r\n" {
				break
			}
		}
		lower := strings.ToLower(head.String())
		if strings.Contains(lower, "\r\nupgrade: h2c") {
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
			rest, _ := io.ReadAll(br)
			add(string(rest))
			return
		}
		length := 0
		if _, after, ok := strings.Cut(lower, "\r\ncontent-length: "); ok {
			digits, _, _ := strings.Cut(after, "\r\n")
			length, _ = strconv.Atoi(digits)
		}
		if strings.Contains(lower, "\r\ntransfer-encoding: chunked") {
			for n := int64(1); n > 0; {
				line, _ := br.ReadString('\n')
				if n, _ = strconv.ParseInt(strings.TrimSpace(line), 16, 32); n > 0 {
					data, _ := io.ReadAll(io.LimitReader(br, n+2))
					line += string(data)
				}
				add(line)
			}
			for line := ""; line != "\r\n"; add(line) { // the trailer
				if line, _ = br.ReadString('\n'); line == "" {
					return
				}
			}
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(br, body); err != nil {
			return
		}
		add(string(body))
		_, _ = io.WriteString(conn, "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok")
	}
}

// requests returns the requests about a path that came, as net/http reads them from what was on the wire.
func (u *wire) requests(t *testing.T, path string) []string {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []string
	for _, text := range u.conns {
		br := bufio.NewReader(strings.NewReader(text.String()))
		for {
			req, err := http.ReadRequest(br)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("the upstream got an invalid request: %v in %q", err, text)
				break
			}
			body, err := io.ReadAll(req.Body)
			if err != nil {
				t.Errorf("the upstream got half a request: %v in %q", err, text)
			}
			if req.URL.Path == "/smuggled" {
				t.Errorf("the upstream got a smuggled request in %q", text)
			}
			if req.URL.Path == path {
				all = append(all, fmt.Sprintf("%s %s %v %d", req.Method, body, req.Header["Idempotency-Key"], len(req.Header["Upgrade"])))
			}
		}
	}
	return all
}

// TestOneRequestOrNone sends raw bytes that two servers might read as different
// requests: the upstream gets exactly one well-formed request, or none.
func TestOneRequestOrNone(t *testing.T) {
	t.Parallel()
	const smuggled = "POST /smuggled HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"
	for name, tt := range map[string]struct {
		lines  string // header lines after Host
		body   string
		status int
		want   string // what the upstream gets; "" for nothing
	}{
		"both lengths":               {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + smuggled, 201, "POST  [k] 0"},
		"both lengths, turned":       {"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "0\r\n\r\n" + smuggled, 201, "POST  [k] 0"},
		"two lengths":                {"Content-Length: 0\r\nContent-Length: 70\r\n", smuggled, 400, ""},
		"signed length":              {"Content-Length: +0\r\n", smuggled, 400, ""},
		"negative length":            {"Content-Length: -1\r\n", smuggled, 400, ""},
		"list of lengths":            {"Content-Length: 0, 0\r\n", smuggled, 400, ""},
		"odd encoding":               {"Transfer-Encoding: xchunked\r\n", "0\r\n\r\n" + smuggled, 501, ""},
		"two encodings":              {"Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n" + smuggled, 501, ""},
		"encoding before a space":    {"Transfer-Encoding : chunked\r\n", "0\r\n\r\n" + smuggled, 400, ""},
		"encoding in a folded line":  {"X: a\r\n Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", "", 201, "POST  [k] 0"},
		"encoding after a line feed": {"X: a\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n", "", 400, ""},
		"bad chunk":                  {"Transfer-Encoding: chunked\r\n", "zz\r\n" + smuggled, 400, ""},
		"chunk extension":            {"Transfer-Encoding: chunked\r\n", "3;x=\"y\"\r\nabc\r\n0\r\n\r\n", 201, "POST abc [k] 0"},
		"same length twice":          {"Content-Length: 1\r\nContent-Length: 1\r\n", "a", 201, "POST a [k] 0"},
		"length in hex":              {"Content-Length: 0x1\r\n", "a", 400, ""},
		"folded key":                 {"Content-Length: 1\r\nX: a\r\n Idempotency-Key: other\r\n", "a", 201, "POST a [k] 0"},
		"folded encoding":            {"Content-Length: 1\r\nTransfer-Encoding:\r\n chunked\r\n", "a" + smuggled, 400, ""},
		"two keys":                   {"Content-Length: 1\r\nIdempotency-Key: other\r\n", "a", 400, ""},
		"keys in two casings":        {"Content-Length: 1\r\nidempotency-KEY: k\r\n", "a", 400, ""},
		"key after a space":          {"Content-Length: 1\r\nIdempotency-Key : other\r\n", "a", 400, ""},
		"key with underscore":        {"Content-Length: 1\r\nIdempotency_Key: other\r\n", "a", 400, ""},
		"key hop by hop":             {"Content-Length: 1\r\nConnection: Idempotency-Key\r\n", "a", 400, ""},
		"length hop by hop":          {"Content-Length: 1\r\nConnection: Content-Length\r\n", "a" + smuggled, 400, ""},
		"encoding hop by hop":        {"Transfer-Encoding: chunked\r\nConnection: Transfer-Encoding\r\n", "1\r\na\r\n0\r\n\r\n", 201, "POST a [k] 0"},
		"host hop by hop":            {"Content-Length: 1\r\nConnection: Host\r\n", "a", 400, ""},
		"continue":                   {"Content-Length: 1\r\nExpect: 100-continue\r\n", "a", 201, "POST a [k] 0"},
		"another expectation":        {"Content-Length: 1\r\nExpect: 200-ok\r\n", "a", 417, ""},
		"h2c":                        {"Content-Length: 1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n", "a" + smuggled, 0, "POST a [k] 0"},
		"h2c in a list":              {"Content-Length: 1\r\nConnection: Upgrade\r\nUpgrade: websocket, H2C\r\n", "a", 201, "POST a [k] 0"},
		"TLS":                        {"Content-Length: 1\r\nConnection: Upgrade\r\nUpgrade: TLS/1.2\r\n", "a", 201, "POST a [k] 0"},
		"another HTTP":               {"Content-Length: 1\r\nConnection: upgrade\r\nUpgrade: HTTP/2.0\r\n", "a", 201, "POST a [k] 0"},
		"chunk size with a line end": {"Transfer-Encoding: chunked\r\n", "1\n\na\r\n0\r\n\r\n" + smuggled, 400, ""},
		"huge chunk size":            {"Transfer-Encoding: chunked\r\n", "ffffffffffffffff1\r\na\r\n0\r\n\r\n", 400, ""},
		"negative chunk size":        {"Transfer-Encoding: chunked\r\n", "-1\r\na\r\n0\r\n\r\n", 400, ""},
		"trailer named Length":       {"Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n", "1\r\na\r\n0\r\nContent-Length: 70\r\n\r\n" + smuggled, 400, ""},
		"trailing key":               {"Transfer-Encoding: chunked\r\nTrailer: Idempotency-Key\r\n", "1\r\na\r\n0\r\nIdempotency-Key: z\r\n\r\n", 201, "POST a [k] 0"},
		"NUL in a value":             {"Content-Length: 1\r\nX: a\x00b\r\n", "a", 400, ""},
		"CR in a value":              {"Content-Length: 1\r\nX: a\rIdempotency-Key: z\r\n", "a", 400, ""},
		"no colon":                   {"Content-Length: 1\r\nX\r\n", "a", 400, ""},
	} {
		for _, key := range []string{"Idempotency-Key: k\r\n", ""} {
			t.Run(name+" "+key, func(t *testing.T) {
				t.Parallel()
				u := &wire{}
				d := open(t, rawUpstream(t, u.serve), func(c *gateway.Config) { c.BodyIdleTimeout = 200 * time.Millisecond })
				conn := dial(t, d)
				_, _ = io.WriteString(conn, "POST /outer HTTP/1.1\r\nHost: h\r\n"+key+tt.lines+"\r\n"+tt.body)
				br := bufio.NewReader(conn)
				res, err := http.ReadResponse(br, nil)
				for err == nil && res.StatusCode == http.StatusContinue {
					res, err = http.ReadResponse(br, nil)
				}
				if err != nil {
					t.Fatalf("no answer: %v", err)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				if res.StatusCode == http.StatusSwitchingProtocols {
					t.Fatal("the gateway opened a tunnel")
				}
				if tt.status != 0 && key != "" && res.StatusCode != tt.status {
					t.Errorf("got %d, want %d", res.StatusCode, tt.status)
				}
				_ = conn.(*net.TCPConn).CloseWrite()
				_, _ = io.Copy(io.Discard, br) // until the gateway has read what follows
				_ = conn.Close()
				if tt.status == 0 {
					return // what follows is a request of its own, which the gateway read as one, and passed on as one
				}
				if key == "" { // its body is passed on as it comes, so that half a request may arrive
					u.wantNothingSmuggled(t)
					return
				}
				var want []string
				if tt.want != "" {
					want = []string{tt.want}
				}
				if diff := cmp.Diff(want, u.requests(t, "/outer")); diff != "" {
					t.Errorf("the upstream got (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func (u *wire) wantNothingSmuggled(t *testing.T) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, text := range u.conns {
		if strings.Contains(text.String(), "/smuggled") {
			t.Errorf("the upstream got a smuggled request in %q", text)
		}
	}
}
