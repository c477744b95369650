package proxies_test

import (
	"crypto/tls"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/testserver"
)

// kind is a reverse proxy that people have.
type kind struct {
	name, language string                    // the language of its block in docs/operations.md
	options        testserver.ProgramOptions // without Config
	reload         []string                  // see Program.Reload
	// frame makes a whole configuration of directives that listen as on the page.
	frame func(s *settings, directives string) string
	// listen holds how the page's directives listen, and listenAt returns the same for the settings.
	listen   string
	listenAt func(s *settings) string
	// plain are directives that leave retries at the default, and eager some that send again whatever they can.
	plain, eager string
	// buffering turns the page's directives into some that hold requests and answers until they are complete, and streaming into some
	// that do not; secure into some with HTTP/2 over TLS on both sides, where the proxy speaks it. They hold texts and what replaces them.
	buffering, streaming, secure []string
	front                        []string // turns them likewise into what is enough in front of the gateway
	badHeader                    bool     // over HTTP/2 it passes on a header with a control byte, which no server takes, and answers 502 itself
	http1Behind                  bool     // it speaks no HTTP/2 to the server behind it
}

func kinds() []*kind { return []*kind{nginx(), haproxy(), apache(), caddy()} }

// each runs a test with every kind of proxy.
func each(t *testing.T, test func(t *testing.T, k *kind)) {
	t.Helper()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			test(t, k)
		})
	}
}

// protocol is the one that callers, proxies, gateways and applications speak, where a proxy lets them.
type protocol struct {
	name   string
	secure *tls.Config // nil without TLS
}

func protocols(t *testing.T) []protocol {
	t.Helper()
	return []protocol{{"HTTP/1.1", nil}, {"HTTP/2", trusting(t)}}
}

// url returns the URL of a server at an address (host:port).
func (p protocol) url(address string) string {
	if p.secure == nil {
		return "http://" + address
	}
	return "https://" + address
}

// behind returns the page's directives for a proxy behind the gateway, with these changes.
func (k *kind) behind(t *testing.T, p protocol, changes ...string) string {
	t.Helper()
	directives := replace(t, k.page(t), changes...)
	if p.secure != nil {
		directives = replace(t, directives, k.secure...)
	}
	return directives
}

// before returns likewise those for a proxy in front of the gateway.
func (k *kind) before(t *testing.T, p protocol, changes ...string) string {
	t.Helper()
	return strings.NewReplacer(k.front...).Replace(k.behind(t, p, changes...))
}

// settings differ between two configurations of a proxy.
type settings struct {
	dir        string // of its own
	port       int
	generation int // every answer has it in a header
}

const (
	// firstUpstream and secondUpstream are the servers behind the proxy, in the directives of the page and of this package.
	firstUpstream    = "127.0.0.1:8080"
	secondUpstream   = "127.0.0.1:8082"
	generationHeader = "X-Generation"
	patiently        = 100 // questions before the next signal, or command
)

// proxy is one that runs.
type proxy struct {
	*testserver.Program

	kind       *kind
	generation int // of its next configuration
	url        string
}

// start starts a proxy with these directives, in front of two servers (host:port).
func (k *kind) start(t *testing.T, directives string, upstreams []string) *proxy {
	t.Helper()
	p := &proxy{kind: k}
	behind := strings.NewReplacer(firstUpstream, upstreams[0], secondUpstream, upstreams[1])
	scheme := "http://"
	if strings.Contains(directives, tlsMark) {
		scheme = "https://"
	}
	o := k.options
	o.Config = func(dir string, port int) string {
		s := &settings{dir: dir, port: port, generation: p.generation}
		return k.frame(s, replace(t, behind.Replace(directives), k.listen, k.listenAt(s), tlsMark, certificateFile))
	}
	p.Program = testserver.StartProgram(t, &o)
	p.url = scheme + p.Addr()
	return p
}

// replace replaces texts, given with what replaces them. The first has to be there.
func replace(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	if len(pairs) > 0 && !strings.Contains(text, pairs[0]) {
		t.Fatalf("%q is not in\n%s", pairs[0], text)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// next makes the proxy read a new configuration, and waits until it answers with it.
func (p *proxy) next(t *testing.T) {
	t.Helper()
	p.generation++
	want, tries := strconv.Itoa(p.generation), 0
	testserver.Eventually(t, p.kind.name+" has the new configuration", func() bool {
		if tries++; tries%patiently == 1 { // HAProxy misses a signal that comes while it still takes the one before in hand
			p.Reload(p.kind.reload...)
		}
		got := newCaller(t, p.url).send(http.MethodGet, "/", "", "")
		return got.err == nil && got.header.Get(generationHeader) == want
	})
}
