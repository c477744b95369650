package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
)

// The peers of seamDoor: a proxy that it trusts, and a stranger.
const (
	trustedPeer, strangePeer = "127.0.0.2", "127.0.0.1"
	keyLine                  = "Idempotency-Key: k"
)

// lastHeader is an upstream that remembers the header of the last request of each method.
type lastHeader struct {
	mu  sync.Mutex // guards all
	all map[string]http.Header
}

func (l *lastHeader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[r.Method] = r.Header.Clone()
	_, _ = io.WriteString(w, "account of "+strings.Join(r.Header["X-Forwarded-User"], "+"))
}

func (l *lastHeader) of(method, name string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[method][name]
}

// seamDoor opens a gateway whose rules read the header of this name in every way that a rule can.
func seamDoor(t *testing.T, name string) (*door, *lastHeader) {
	t.Helper()
	l := &lastHeader{all: map[string]http.Header{}}
	return open(t, upstream(t, l.ServeHTTP), func(c *gateway.Config) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(trustedPeer + "/32")}
		c.Rules = parse(t, strings.ReplaceAll(`version: 1
routes:
  - {name: scope, match: {methods: [POST], path: "/scope/{n}"}, scope: [{header: NAME}, {constant: rest}]}
  - {name: derive, match: {methods: [POST], path: "/derive/{n}"}, scope: {constant: rest}, key: {derive: {headers: [NAME], window: 60s}}}
  - {name: key, match: {methods: [POST], path: "/key/{n}"}, scope: {constant: rest}, key: {header: NAME}}
  - {name: authorize, match: {methods: [POST], path: "/authorize/{n}"}, scope: [{header: NAME}, {constant: rest}], authorize: {get: /may}}
`, "NAME", name))
	}), l
}

// sendFrom sends a request line and header lines as they are, from an address of this machine.
func (d *door) sendFrom(t *testing.T, peer, line string, header ...string) reply {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(peer)}}).DialContext(t.Context(), "tcp", strings.TrimPrefix(d.url, "http://"))
	noError(t, err)
	defer conn.Close()
	text := line + " HTTP/1.1\r\nHost: h.test\r\nConnection: close\r\nContent-Length: 0\r\n" + strings.Join(append(header, ""), "\r\n") + "\r\n"
	_, _ = io.WriteString(conn, text)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	noError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return reply{status: res.StatusCode, header: res.Header, body: string(body), err: err}
}

// TestReadersSeeWhatTheUpstreamSees (promise 5, threats 2, 10 and 13): however a caller spells a header, no part of the gateway
// tells two requests apart by it that the upstream sees alike, and the upstream sees none apart that the gateway takes for one.
func TestReadersSeeWhatTheUpstreamSees(t *testing.T) {
	t.Parallel()
	spellings := map[string]func(name, value string) []string{
		"one line":              func(name, value string) []string { return []string{name + ": " + value} },
		"two lines":             func(name, value string) []string { return []string{name + ": " + value, name + ": x"} },
		"two lines, other last": func(name, value string) []string { return []string{name + ": x", name + ": " + value} },
		"small letters":         func(name, value string) []string { return []string{strings.ToLower(name) + ": " + value} },
		"underscores":           func(name, value string) []string { return []string{strings.ReplaceAll(name, "-", "_") + ": " + value} },
		"named by Connection":   func(name, value string) []string { return []string{name + ": " + value, "Connection: " + name} },
		"next to an underscore": func(name, value string) []string {
			return []string{name + ": x", strings.Replace(name, "-", "_", 1) + ": " + value}
		},
	}
	for _, name := range []string{"X-Forwarded-User", "X-Forwarded-Client-Cert", "X-Real-Ip", "X-Account"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, l := seamDoor(t, name)
			n := 0
			for spelling, lines := range spellings {
				for _, peer := range []string{trustedPeer, strangePeer} {
					n++
					s := seam{door: d, last: l, name: name, peer: peer, n: n, a: lines(name, "a"), b: lines(name, "b")}
					t.Run(spelling+" from "+peer, s.check)
				}
			}
		})
	}
}

// seam is one way to send a header, from one peer, with two values.
type seam struct {
	*door

	last       *lastHeader
	name, peer string
	n          int
	a, b       []string // the lines
}

func (s *seam) post(t *testing.T, route string, lines []string) reply {
	t.Helper()
	if route != "derive" {
		lines = append([]string{keyLine}, lines...)
	}
	return s.sendFrom(t, s.peer, fmt.Sprintf("POST /%s/%d", route, s.n), lines...)
}

func (s *seam) check(t *testing.T) {
	probe := s.post(t, "other", s.a)
	seenA := s.last.of(http.MethodPost, s.name)
	s.post(t, "another", s.b)
	seenB := s.last.of(http.MethodPost, s.name)
	differ := !slices.Equal(seenA, seenB)
	if refused := probe.problem() == "ambiguous-request"; refused {
		for _, route := range []string{"scope", "derive", "key", "authorize"} {
			check(t, route, s.post(t, route, s.a), http.StatusBadRequest, "ambiguous-request")
		}
		return
	}
	want := map[bool]string{true: "executed", false: "replayed"}
	for _, route := range []string{"scope", "derive"} {
		wantWord(t, route, s.post(t, route, s.a), "executed")
		wantWord(t, route+" of the other value", s.post(t, route, s.b), want[differ])
		wantWord(t, route+" again", s.post(t, route, s.a), "replayed")
	}
	question := func(lines []string) string {
		return s.sendFrom(t, s.peer, fmt.Sprintf("GET /.well-known/idempotency/status?method=POST&path=/authorize/%d", s.n), append(lines, keyLine)...).body
	}
	first := s.post(t, "authorize", s.a)
	wantWord(t, "authorize", first, "executed")
	wantWord(t, "authorize again", s.post(t, "authorize", s.a), "replayed")
	if got := s.last.of(http.MethodGet, s.name); !slices.Equal(got, seenA) {
		t.Errorf("authorize: the upstream is asked with %q, and gets the request with %q", got, seenA)
	}
	if state := question(s.a); !strings.Contains(state, `"completed"`) {
		t.Errorf("status: got %s, want completed", state)
	}
	if state := question(s.b); strings.Contains(state, `"absent"`) != differ {
		t.Errorf("status of the other value: got %s, and the upstream sees %q and %q", state, seenA, seenB)
	}
	key := s.post(t, "key", s.a)
	switch len(seenA) {
	case 0:
		wantWord(t, "key", key, "")
	case 1:
		wantWord(t, "key", key, "executed")
	default:
		check(t, "key", key, http.StatusBadRequest, "key-invalid")
	}
}

// TestStrangerIsNotTheProxy (promise 5): a caller that names itself in a proxy's header gets neither the
// answer nor the state of a request of the one that the proxy named.
func TestStrangerIsNotTheProxy(t *testing.T) {
	t.Parallel()
	d, _ := seamDoor(t, "X-Forwarded-User")
	const line = "POST /scope/1"
	wantWord(t, "the proxy's", d.sendFrom(t, trustedPeer, line, keyLine, "X-Forwarded-User: victim"), "executed")
	wantWord(t, "the proxy's, again", d.sendFrom(t, trustedPeer, line, keyLine, "X-Forwarded-User: victim"), "replayed")
	const question = "GET /.well-known/idempotency/status?method=POST&path=/scope/1"
	if got := d.sendFrom(t, strangePeer, question, keyLine, "X-Forwarded-User: victim"); !strings.Contains(got.body, `"absent"`) {
		t.Errorf("the stranger's question: got %s", got.body)
	}
	if got := d.sendFrom(t, strangePeer, line, keyLine, "X-Forwarded-User: victim"); got.word() != "executed" || got.body != "account of " {
		t.Errorf("the stranger's: got %q %s", got.word(), got.body)
	}
}

// TestForwardedChain: a scope of X-Forwarded-For has the words of the trusted proxy, without the hop that the gateway
// adds: the same whichever of the proxies a request comes through.
func TestForwardedChain(t *testing.T) {
	t.Parallel()
	d, l := seamDoor(t, "X-Forwarded-For")
	for _, c := range []struct{ peer, want, word string }{
		{trustedPeer, "6.6.6.6, " + trustedPeer, "executed"}, {strangePeer, strangePeer, "executed"},
	} {
		for i, header := range []string{"X-Forwarded-For: 6.6.6.6", "X-Forwarded-For: 6.6.6.6"} {
			wantWord(t, c.peer, d.sendFrom(t, c.peer, "POST /scope/1", keyLine, header), []string{c.word, "replayed"}[i])
		}
		if got := strings.Join(l.of(http.MethodPost, "X-Forwarded-For"), " | "); got != c.want {
			t.Errorf("%s: the upstream got %q, want %q", c.peer, got, c.want)
		}
	}
}

// TestNextDecidesWhoIsBelieved: within another server the gateway sees, and asks the application with, what that server lets through,
// such as the X-Forwarded-Client-Cert of Envoy.
func TestNextDecidesWhoIsBelieved(t *testing.T) {
	t.Parallel()
	const name, cert = "X-Forwarded-Client-Cert", "Hash=1"
	l := &lastHeader{all: map[string]http.Header{}}
	g := must.Get(gateway.New(&gateway.Config{
		Upstream: upstream(t, l.ServeHTTP), Store: store(t), Guard: semel.Options{SweepEvery: -1},
		Next:  func(w http.ResponseWriter, r *http.Request) error { l.ServeHTTP(w, r); return nil },
		Rules: parse(t, "version: 1\nroutes: [{name: a, match: {path: /a}, scope: {header: "+name+"}, authorize: {get: /may}}]\n"),
	}))
	t.Cleanup(func() { _ = g.Close() })
	for _, word := range []string{"executed", "replayed"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/a", strings.NewReader("x"))
		r.RemoteAddr = "" // as from Envoy
		r.Header.Set(name, cert)
		r.Header.Set("Idempotency-Key", "k")
		w := httptest.NewRecorder()
		g.Handler().ServeHTTP(w, r)
		if got := w.Header().Get("Idempotency-Status"); w.Code != http.StatusOK || got != word {
			t.Errorf("got %d %q %s, want %s", w.Code, got, w.Body, word)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		if got := l.of(method, name); !slices.Equal(got, []string{cert}) {
			t.Errorf("%s: the application got %q", method, got)
		}
	}
}
