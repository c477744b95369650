package chromium_test

import (
	"context"
	"errors"
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

// TestLongPoll: a request that the server holds does not keep a page from being done.
func TestLongPoll(t *testing.T) {
	t.Parallel()
	var polled atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/poll" {
			polled.Store(true)
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<script>fetch("/poll").catch(() => {})</script>`))
	}))
	t.Cleanup(server.Close)
	b, err := chromium.Open(t.Context(), &chromium.Options{Path: testserver.Chromium(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := b.Profile(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := p.Tab(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.Open(ctx, server.URL); err != nil || !polled.Load() {
		t.Errorf("polled: %v, %v", polled.Load(), err)
	}
	if err := b.Close(); err != nil {
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
