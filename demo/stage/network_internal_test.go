package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// wire is a server behind a network, and a browser that keeps its connection.
type wire struct {
	net    *network
	server *httptest.Server
	client *http.Client
	ran    atomic.Int64
}

func newWire(t *testing.T) *wire {
	t.Helper()
	w := &wire{net: newNetwork()}
	w.server = httptest.NewUnstartedServer(w.net.around(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !reads(r) {
			w.ran.Add(1)
		}
		_, _ = io.Copy(rw, r.Body) // the test checks the result
	})))
	w.server.Config.ConnContext = nameConnection
	w.server.Start()
	t.Cleanup(w.server.Close)
	w.client = w.server.Client()
	return w
}

// send returns the answer's text.
func (w *wire) send(ctx context.Context, method, body string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, method, w.server.URL, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		condition condition
		ran       int64
		answered  bool
	}{
		{netNormal, 1, true},
		{netDelay, 1, true},
		{netLoseAnswer, 1, false},
		{netDropRequest, 0, false},
		{netCloseReused, 1, true}, // on its own connection
	} {
		t.Run(string(tt.condition), func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			w.net.set(weather{condition: tt.condition, delay: time.Millisecond})
			text, err := w.send(t.Context(), http.MethodPost, "hello")
			if answered := err == nil && text == "hello"; answered != tt.answered {
				t.Errorf("got answer %q and error %v, want an answer: %v", text, err, tt.answered)
			}
			if got := w.ran.Load(); got != tt.ran {
				t.Errorf("it ran %d times, want %d", got, tt.ran)
			}
			if !tt.answered && errors.Is(err, io.EOF) {
				t.Error("nothing at all was answered: a browser would send it again")
			}
			if text, err := w.send(t.Context(), http.MethodGet, ""); err != nil {
				t.Errorf("a page: got %q, %v", text, err)
			}
		})
	}
}

// TestNetworkMakesTheBrowserSendAgain counts resent requests, and forwards them.
func TestNetworkMakesTheBrowserSendAgain(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	w.net.set(weather{condition: netCloseReused})
	for i, step := range []struct {
		method, body string
		answered     bool
		ran          int64
		resent       int
	}{
		{http.MethodGet, "", true, 0, 0},
		{http.MethodPost, "one", false, 1, 0},
		{http.MethodPost, "one", true, 2, 1}, // on a new connection, it would be forwarded anyway
		{http.MethodPost, "one", false, 3, 1},
		{http.MethodPost, "two", true, 4, 1}, // another one, on a new connection
		{http.MethodPost, "one", true, 5, 2}, // on a reused connection
	} {
		text, err := w.send(t.Context(), step.method, step.body)
		if answered := err == nil && text == step.body; answered != step.answered {
			t.Errorf("step %d: got %q and %v, want an answer: %v", i, text, err, step.answered)
		}
		if _, resent := w.net.look(); resent != step.resent || w.ran.Load() != step.ran {
			t.Errorf("step %d: ran %d times and %d were sent again, want %d and %d", i, w.ran.Load(), resent, step.ran, step.resent)
		}
	}
	w.net.forget()
	if _, resent := w.net.look(); resent != 0 {
		t.Errorf("after forget: got %d, want 0", resent)
	}
}

// TestNetworkDeliversWhatTheBrowserGaveUp: a request that was sent arrives, even after its client is gone.
func TestNetworkDeliversWhatTheBrowserGaveUp(t *testing.T) {
	t.Parallel()
	n := newNetwork()
	arrived := make(chan error, 1)
	handler := n.around(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { arrived <- r.Context().Err() }))
	n.set(weather{condition: netDelay, delay: time.Millisecond})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(gone, http.MethodPost, "/", strings.NewReader("hello"))
	handler.ServeHTTP(httptest.NewRecorder(), r)
	if err := <-arrived; err != nil {
		t.Errorf("it arrived with a context that has ended: %v", err)
	}
}

func TestNetworkEndsWithTheDemo(t *testing.T) {
	t.Parallel()
	n := newNetwork()
	n.end()
	if n.wait(maxDelay) {
		t.Error("it waited after its end")
	}
}

func TestNetworkLetsGoWhatItDelays(t *testing.T) {
	t.Parallel()
	n := newNetwork()
	goesOn := make(chan bool)
	moved := n.moved.listen()
	go func() { goesOn <- n.wait(time.Hour) }()
	for {
		n.set(weather{condition: netNormal})
		select {
		case got := <-goesOn:
			if !got {
				t.Error("the request was given up")
			}
			<-moved
			return
		case <-t.Context().Done():
			t.Fatal("it still waits")
		default:
		}
	}
}

// TestSetNetwork sets networks as the page's form does.
func TestSetNetwork(t *testing.T) {
	t.Parallel()
	d := start(t)
	set := func(form string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/network", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		d.pageHandler().ServeHTTP(w, r)
		return w.Code
	}
	for form, want := range map[string]int{
		"copy=guarded&condition=delay&delay_ms=250":                      http.StatusSeeOther,
		"copy=unprotected&condition=lose-answer":                         http.StatusSeeOther,
		"copy=scripts&condition=drop-request":                            http.StatusSeeOther,
		"copy=guarded&condition=lose-inside":                             http.StatusBadRequest, // it has no gateway
		"copy=nobody&condition=normal":                                   http.StatusBadRequest,
		"copy=guarded&condition=foul":                                    http.StatusBadRequest,
		"copy=guarded&condition=delay&delay_ms=10001":                    http.StatusBadRequest,
		"copy=guarded&condition=delay&delay_ms=-1":                       http.StatusBadRequest,
		"copy=guarded&condition=" + strings.Repeat("x", maxSettingBytes): http.StatusBadRequest,
	} {
		if got := set(form); got != want {
			t.Errorf("%.60s: got %d, want %d", form, got, want)
		}
	}
	now, err := d.state(t.Context())
	noError(t, err)
	want := map[string]networkState{
		"unprotected": {Condition: netLoseAnswer, DelayMS: defaultDelay.Milliseconds()},
		"guarded":     {Condition: netDelay, DelayMS: 250},
		"protected":   {Condition: netNormal, DelayMS: defaultDelay.Milliseconds()},
		"scripts":     {Condition: netDropRequest, DelayMS: defaultDelay.Milliseconds()},
		"paged":       {Condition: netDropRequest, DelayMS: defaultDelay.Milliseconds()}, // in the same column
	}
	if got := fmt.Sprint(now.Networks); got != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	noError(t, d.Reset(t.Context()))
	if got := d.unprotected.network().Condition; got != netNormal {
		t.Errorf("after Reset: got %q, want %q", got, netNormal)
	}
}
