package chromium_test

import (
	"context"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/cli/chromium"
	"github.com/semel-dev/semel/internal/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTab: a page loads, scripts run or do not, and what may not leave does not.
func TestTab(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var arrived []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		arrived = append(arrived, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<title>plain</title><script>document.title = "scripted"; fetch("/stopped", { method: "POST" }).catch(() => {})</script>`))
	}))
	t.Cleanup(server.Close)
	b, err := chromium.Open(t.Context(), &chromium.Options{Path: testserver.Chromium(t)})
	if err != nil {
		t.Fatal(err)
	}
	for scriptless, want := range map[bool]string{true: "plain", false: "scripted"} {
		p, err := b.Profile(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tab, err := p.Tab(t.Context(), &chromium.TabOptions{NoScripts: scriptless, Leaves: func(r chromium.Request) bool { return r.Method == http.MethodGet }})
		if err != nil {
			t.Fatal(err)
		}
		if err := tab.Open(t.Context(), server.URL+"/page"); err != nil {
			t.Fatal(err)
		}
		var title string
		if err := tab.Run(t.Context(), "document.title", &title); err != nil || title != want {
			t.Errorf("without scripts %v: %q, %v", scriptless, title, err)
		}
		if got := tab.Page(); got.Status != http.StatusOK || got.Header.Get("Content-Type") != "text/html" {
			t.Errorf("the page is %+v", got)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if slices.Contains(arrived, "POST /stopped") {
		t.Errorf("what was stopped arrived: %v", arrived)
	}
}

// visit opens an address in a browser of its own, and lets look read the page.
func visit(t *testing.T, address string, flags []string, look func(context.Context, *chromium.Tab) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b, err := chromium.Open(ctx, &chromium.Options{Path: testserver.Chromium(t), Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.Profile(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := p.Tab(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = tab.Open(ctx, address)
	if err == nil && look != nil {
		err = look(ctx, tab)
	}
	return errors.Join(err, b.Close())
}

// TestIdle: neither a request that the server holds nor a worker keeps a page from being done.
func TestIdle(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"long poll": `fetch("/poll").catch(() => {})`,
		"worker":    `new Worker("/worker.js")`,
		"shared":    `new SharedWorker("/worker.js")`,
		"service":   `navigator.serviceWorker.register("/worker.js")`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/poll":
					asked.Store(true)
					<-r.Context().Done()
				case "/worker.js":
					asked.Store(true)
					w.Header().Set("Content-Type", "text/javascript")
					_, _ = w.Write([]byte(`fetch("/poll").catch(() => {})`))
				default:
					w.Header().Set("Content-Type", "text/html")
					_, _ = w.Write([]byte("<script>" + script + "</script>"))
				}
			}))
			t.Cleanup(server.Close)
			if err := visit(t, server.URL, nil, func(context.Context, *chromium.Tab) error {
				testserver.Eventually(t, "the script asks", asked.Load) // a worker may start later
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

// all lets everything pass the relay.
type all struct{}

func (all) Leaves(*http.Request, string) (func(*http.Response) bool, bool) { return nil, true }

// TestSocket: a page talks to its server by WebSocket through the relay, with TLS and without.
func TestSocket(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/socket" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`<script>const s = new WebSocket("/socket"); s.onmessage = (e) => { document.title ||= e.data }; s.onclose = () => { document.title ||= "closed" }</script>`))
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) // RFC 6455, section 1.3
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n\x81\x02hi",
			base64.StdEncoding.EncodeToString(sum[:]))
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	relay, err := chromium.NewRelay(secure.Client().Transport.(*http.Transport).TLSClientConfig.Clone(), nil) //nolint:forcetypeassert // httptest's.
	if err != nil {
		t.Fatal(err)
	}
	relay.Play(all{})
	flags, err := relay.Flags()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{plain.URL, secure.URL} {
		var said string
		err := visit(t, address, flags, func(ctx context.Context, tab *chromium.Tab) (err error) {
			for said == "" && err == nil {
				err = tab.Run(ctx, "document.title", &said)
			}
			return err
		})
		if err != nil || said != "hi" {
			t.Errorf("%s: %q, %v", address, said, errors.Join(err, relay.Why()))
		}
	}
	if err := relay.Close(); err != nil {
		t.Error(err)
	}
}

// TestEnd: the browser ends with its context.
func TestEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b, err := chromium.Open(ctx, &chromium.Options{Path: testserver.Chromium(t)})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := b.Profile(t.Context()); err == nil {
		t.Error("the browser still answers")
	}
}

// TestMissing: without a browser, the error names a package.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := chromium.Open(t.Context(), nil); !errors.Is(err, chromium.ErrMissing) {
		t.Errorf("got %v", err)
	}
}
