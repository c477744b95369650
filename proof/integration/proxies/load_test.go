package proxies_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/testserver"
)

const (
	callers = 6
	reloads = 4
	kills   = 4
)

// load has callers that send one order after the other, each until it has an answer for good, while something happens to a proxy.
type load struct {
	t       *testing.T
	app     *application
	url     string
	stop    atomic.Bool
	sent    atomic.Int64 // orders that were answered
	unknown atomic.Int64 // of these, with an unknown outcome
	again   atomic.Int64 // further attempts
	all     sync.WaitGroup
}

func startLoad(t *testing.T, app *application, url string) *load {
	t.Helper()
	l := &load{t: t, app: app, url: url}
	for i := range callers {
		l.all.Go(func() {
			c := newCaller(t, url)
			for n := 0; !l.stop.Load(); n++ {
				l.order(c, fmt.Sprintf("/order/%d/%d", i, n))
			}
		})
	}
	t.Cleanup(l.end) // when the test fails before it ends
	l.more()
	return l
}

// order sends one until it is executed, or its outcome is unknown for good.
func (l *load) order(c *caller, path string) {
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	deadline := time.Now().Add(patience)
	for !l.settled(c.send(http.MethodPost, path, "amount=1", path), path) {
		if time.Now().After(deadline) {
			l.t.Errorf("%s got no answer", path)
			return
		}
		l.again.Add(1)
		<-pause.C
	}
	l.sent.Add(1)
	if n := l.app.executed(path); n > 1 {
		l.t.Errorf("promise 3: %s was executed %d times", path, n)
	}
}

// settled reports whether the answer is one for good.
func (l *load) settled(got answer, path string) bool {
	switch {
	case got.err != nil:
		return false
	case got.status == http.StatusCreated:
		if got.body != path+", execution 1" {
			l.t.Errorf("%s: got %s", path, got.body)
		}
		return true
	case got.status == http.StatusConflict && got.problem() == "outcome-unknown":
		l.unknown.Add(1)
		return true
	}
	return false
}

// more waits until more orders were answered.
func (l *load) more() {
	l.t.Helper()
	enough := l.sent.Load() + 3*callers
	testserver.Eventually(l.t, "more orders are answered", func() bool { return l.sent.Load() >= enough })
}

func (l *load) end() {
	l.stop.Store(true)
	l.all.Wait()
}

// wantKnown ends the load, and reports unknown outcomes unless the proxy is behind the gateway.
func (l *load) wantKnown(p *proxy) {
	l.t.Helper()
	l.end()
	l.t.Logf("%d orders, %d further attempts, %d unknown", l.sent.Load(), l.again.Load(), l.unknown.Load())
	if l.url == p.url && l.unknown.Load() > 0 {
		l.t.Errorf("%d outcomes are unknown, although no connection of the gateway broke", l.unknown.Load())
	}
}

// places runs a test with every kind of proxy before the gateway, and between it and the application. Callers send to url.
func places(t *testing.T, test func(t *testing.T, app *application, p *proxy, url string)) {
	t.Helper()
	each(t, func(t *testing.T, k *kind) {
		t.Helper()
		for _, pr := range protocols(t) {
			t.Run("front, "+pr.name, func(t *testing.T) {
				t.Parallel()
				app := newApplication(false)
				p := k.start(t, k.before(t, pr), gateways(t, serve(t, app, nil), pr.secure))
				test(t, app, p, p.url)
			})
			t.Run("between, "+pr.name, func(t *testing.T) {
				t.Parallel()
				app := newApplication(false)
				p := k.start(t, k.behind(t, pr), twice(t, app, pr.secure))
				test(t, app, p, pr.url(serve(t, newGateway(t, p.url, newStore(t)).Handler(), pr.secure)))
			})
		}
	})
}

// TestReload (promises 1 to 3): a proxy that reads a new configuration under load makes no order happen twice. In front of the gateway every
// caller gets an answer.
func TestReload(t *testing.T) {
	t.Parallel()
	places(t, func(t *testing.T, app *application, p *proxy, url string) {
		t.Helper()
		l := startLoad(t, app, url)
		for range reloads {
			p.next(t)
			l.more()
		}
		l.wantKnown(p)
	})
}

// TestKilled (promises 1 to 3): a proxy that is killed under load, and comes back, likewise.
func TestKilled(t *testing.T) {
	t.Parallel()
	places(t, func(t *testing.T, app *application, p *proxy, url string) {
		t.Helper()
		l := startLoad(t, app, url)
		for range kills {
			p.Kill()
			p.Start()
			l.more()
		}
		l.wantKnown(p)
	})
}
