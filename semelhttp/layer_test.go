package semelhttp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/semel-dev/semel/semelhttp"
)

// named is an error page in the way of many services.
func named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				w.Header().Set("X-Page", "sorry")
				http.Error(w, fmt.Sprint("sorry: ", p), http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// unreturned answers for a handler that does not return, as by runtime.Goexit.
func unreturned(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		returned := false
		defer func() {
			if !returned {
				_ = recover()
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
		returned = true
	})
}

// late adds what chi's Timeout does when the time of a request is up.
func late(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		w.WriteHeader(http.StatusGatewayTimeout)
	})
}

// deep calls f from so many frames further down, as a template in templates does.
func deep(frames int, f func()) {
	if frames == 0 {
		f()
		return
	}
	deep(frames-1, f)
}

// deepPage is an error page that is written by much code.
func deepPage(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if recover() != nil {
				deep(500, func() { w.WriteHeader(http.StatusInternalServerError) })
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// timeoutHandler has the name of net/http's, as go-zero's copy does. Its time is always up.
type timeoutHandler struct{ next http.Handler }

func (h *timeoutHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.next.ServeHTTP(httptest.NewRecorder(), r)
	w.WriteHeader(http.StatusServiceUnavailable)
}

func soon(next http.Handler) http.Handler { return http.TimeoutHandler(next, time.Minute, "") }

// TestLayers: promise 3: an unknown outcome stays unknown, in every order of the door and a layer of net/http.
func TestLayers(t *testing.T) {
	t.Parallel()
	type layer = func(http.Handler) http.Handler
	panics := func(http.ResponseWriter, *http.Request) { panic("after the effect") }
	fails := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	for name, c := range map[string]struct {
		outside, inside layer
		handler         http.HandlerFunc
		status          int
		word            string
		ran             int64
	}{
		"recovery outside":       {recovering, nil, panics, 500, "unknown", 1},
		"recovery inside":        {nil, recovering, panics, 500, "unknown", 1},
		"a page inside":          {nil, named, panics, 500, "unknown", 1},
		"a flag inside":          {nil, unreturned, panics, 500, "unknown", 1},
		"a deep page inside":     {nil, deepPage, panics, 500, "unknown", 1},
		"a copy of a layer":      {nil, func(next http.Handler) http.Handler { return &timeoutHandler{next} }, fails, 503, "unknown", 1},
		"a failure in the deep":  {recovering, nil, func(w http.ResponseWriter, r *http.Request) { deep(5000, func() { fails(w, r) }) }, 500, "released", 2},
		"a failure":              {recovering, recovering, fails, 500, "released", 2},
		"two layers inside":      {nil, func(next http.Handler) http.Handler { return soon(recovering(next)) }, panics, 500, "unknown", 1},
		"a panic in a time-out":  {recovering, soon, panics, 500, "unknown", 1},
		"late, after a failure":  {nil, late, fails, 500, "unknown", 1},
		"late, after an answer":  {nil, late, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }, 201, "executed", 1},
		"panic after an answer":  {nil, named, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated); panic("late") }, 500, "unknown", 1},
		"aborted":                {recovering, nil, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 500, "unknown", 1},
		"panic(nil)":             {nil, recovering, func(http.ResponseWriter, *http.Request) { panic(nil) }, 500, "unknown", 1},
		"a panic below a panic":  {nil, recovering, func(http.ResponseWriter, *http.Request) { defer func() { panic("two") }(); panic("one") }, 500, "unknown", 1},
		"the door in a deferred": {deferring, nil, fails, 500, "released", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var invoices counter
			d := newDoor(t, doorOptions{})
			var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				invoices.ran.Add(1)
				c.handler(w, r)
			})
			if c.inside != nil {
				handler = c.inside(handler)
			}
			handler = d.Handler(handler)
			if c.outside != nil {
				handler = c.outside(handler)
			}
			server := newServer(t, handler)
			if first := ask(t, server, "k1", "x"); first.status != c.status || first.word() != c.word {
				t.Errorf("first: got %d %q, want %d %q", first.status, first.word(), c.status, c.word)
			}
			second := ask(t, server, "k1", "x")
			if c.word == "unknown" {
				wantProblem(t, second, http.StatusConflict, "outcome-unknown")
			}
			invoices.wantRan(t, "promise 3", c.ran)
		})
	}
}

// deferring calls what is inside of it while a panic of its own is on its way.
func deferring(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { _ = recover() }()
		defer func() { next.ServeHTTP(w, r) }()
		panic("before the door")
	})
}

// TestGoexit: promise 3: a handler whose goroutine ends is unknown, whether a layer inside answers for it or not.
func TestGoexit(t *testing.T) {
	t.Parallel()
	for name, inside := range map[string]func(http.Handler) http.Handler{
		"no layer": func(next http.Handler) http.Handler { return next }, "a layer": unreturned,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, doorOptions{})
			handler := d.Handler(inside(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runtime.Goexit() })))
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				handle(t, handler, "/", "x", "Idempotency-Key", "k1")
			}()
			<-ended
			if w := handle(t, handler, "/", "x", "Idempotency-Key", "k1"); w.Code != http.StatusConflict {
				t.Errorf("got %d %s, want 409 outcome-unknown", w.Code, w.Body)
			}
		})
	}
}

// TestPanicAfterAnAnswer: a layer inside that recovers answers in place of the handler, with its own header and body.
func TestPanicAfterAnAnswer(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	handler := d.Handler(named(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Location", "/invoices/1")
		w.Header().Set("Content-Length", "10")
		w.Header().Set("X-Outer", "the handler's")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "half")
		panic(errors.New("late"))
	})))
	server := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Outer", "outside")
		handler.ServeHTTP(w, r)
	}))
	first := ask(t, server, "k1", "x")
	if first.status != http.StatusInternalServerError || first.body != "sorry: late\n" || first.header.Get("Location") != "" ||
		first.header.Get("X-Page") != "sorry" || first.header.Get("X-Outer") != "outside" {
		t.Errorf("got %d %q %v", first.status, first.body, first.header)
	}
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "outcome-unknown")
}

// TestPanicInAReleasedStream: promise 3: a panic counts more than the refusal that had begun, below a layer that recovers as well.
func TestPanicInAReleasedStream(t *testing.T) {
	t.Parallel()
	for name, inside := range map[string]func(http.Handler) http.Handler{
		"no layer": func(next http.Handler) http.Handler { return next }, "a layer": named,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, doorOptions{})
			server := newServer(t, recovering(d.Handler(inside(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusTooManyRequests)
				_ = http.NewResponseController(w).Flush()
				panic("after the effect")
			})))))
			if first := ask(t, server, "k1", "x"); first.status != http.StatusTooManyRequests {
				t.Errorf("first: got %d %q, want 429", first.status, first.word())
			}
			wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "outcome-unknown")
		})
	}
}

// TestTimeoutHandlerInside: promise 3: net/http's TimeoutHandler answers while the handler goes on, so a retry must not run.
func TestTimeoutHandlerInside(t *testing.T) {
	t.Parallel()
	var invoices counter
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	d := newDoor(t, doorOptions{})
	server := newServer(t, d.Handler(http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(begun) // a second run panics
		<-end
		invoices.create(w, r)
		close(ended)
	}), time.Nanosecond, "later")))
	first := ask(t, server, "k1", "x")
	if first.status != http.StatusServiceUnavailable || first.word() != "unknown" || first.body != "later" {
		t.Errorf("first: got %d %q %q, want 503 unknown", first.status, first.word(), first.body)
	}
	<-begun
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "outcome-unknown")
	close(end)
	<-ended
	invoices.wantRan(t, "promise 3", 1)
}

// TestTimeoutHandlerOutside: outside of the door it ends the wait of a caller, not the work, whose answer is recorded.
func TestTimeoutHandlerOutside(t *testing.T) {
	t.Parallel()
	var invoices counter
	end := make(chan struct{})
	d := newDoor(t, doorOptions{})
	door := d.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-end
		invoices.create(w, r)
	}))
	hasty, patient := newServer(t, http.TimeoutHandler(door, time.Nanosecond, "later")), newServer(t, door)
	if first := ask(t, hasty, "k1", "x"); first.status != http.StatusServiceUnavailable || first.word() != "" {
		t.Errorf("first: got %d %q, want the layer's 503", first.status, first.word())
	}
	close(end)
	if second := ask(t, patient, "k1", "x"); second.status != http.StatusCreated {
		t.Errorf("second: got %d %q, want the answer", second.status, second.body)
	}
	invoices.wantRan(t, "promise 3", 1)
}

// always200 answers like many services whose body alone says whether something went well.
func always200(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if recover() != nil {
				w.WriteHeader(http.StatusOK)
				_, _ = io.WriteString(w, `{"code":500}`)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// TestTransactionPanicRecoveredInside: promise 4: a panic rolls back, even after WriteHeader and below a layer that recovers it,
// whatever that answers.
func TestTransactionPanicRecoveredInside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		layer  func(http.Handler) http.Handler
		status int
		early  bool // the handler has answered before it panics
	}{
		"500": {recovering, 500, true}, "200": {always200, 200, false}, "200 after 201": {always200, 200, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTxDoor(t, nil, semelhttp.Options{})
			fail := true
			server := newServer(t, d.Handler(c.layer(d.insert(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.early || !fail {
					w.WriteHeader(http.StatusCreated)
				}
				if fail {
					panic("late")
				}
			}))))
			if first := ask(t, server, "k1", "x"); first.status != c.status || first.word() != "released" {
				t.Errorf("first: got %d %q, want %d released", first.status, first.word(), c.status)
			}
			d.wantRows(t, "x", 0)
			fail = false
			if second := ask(t, server, "k1", "x"); second.status != http.StatusCreated || second.word() != "executed" {
				t.Errorf("second: got %d %q, want 201 executed", second.status, second.word())
			}
			d.wantRows(t, "x", 1)
		})
	}
}

// TestTransactionPanicStored: promise 4: where failures are stored, the answer of the layer is recorded, without the rows.
func TestTransactionPanicStored(t *testing.T) {
	t.Parallel()
	d := newTxDoor(t, nil, semelhttp.Options{On5xx: semelhttp.StoreOn5xx})
	server := newServer(t, d.Handler(always200(d.insert(t, func(http.ResponseWriter, *http.Request) { panic("late") }))))
	for _, word := range []string{"executed", "replayed"} {
		if got := ask(t, server, "k1", "x"); got.status != http.StatusOK || got.word() != word || got.body != `{"code":500}` {
			t.Errorf("got %d %q %q, want 200 %s", got.status, got.word(), got.body, word)
		}
		d.wantRows(t, "x", 0)
	}
}
