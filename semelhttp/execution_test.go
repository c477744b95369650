package semelhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

// TestStatuses: which answers are the outcome, and which let a retry run.
func TestStatuses(t *testing.T) {
	t.Parallel()
	word := map[int]string{
		401: "released", 403: "released", 407: "released", 408: "released", 412: "released", 417: "released", 419: "released", 421: "released", 423: "released", 425: "released", 428: "released", 429: "released",
		405: "released", 411: "released", 413: "released", 414: "released", 415: "released", 431: "released", 440: "released",
		500: "released", 501: "released", 502: "unknown", 503: "released", 504: "unknown", 511: "released", 520: "unknown", 529: "released", 599: "unknown", 999: "unknown",
	}
	for _, status := range []int{
		200, 201, 202, 204, 299, 302, 303, 304, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 417, 418, 419, 421,
		422, 423, 425, 428, 429, 431, 440, 451, 499, 500, 501, 502, 503, 504, 511, 520, 529, 599, 999,
	} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			var invoices counter
			d := newDoor(t, doorOptions{})
			server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
				invoices.ran.Add(1)
				w.WriteHeader(status)
			})
			first := ask(t, server, "k1", "x")
			second := ask(t, server, "k1", "x")
			if word[status] == "released" {
				if first.word() != "released" || second.word() != "released" {
					t.Errorf("got %q and %q, want released", first.word(), second.word())
				}
				invoices.wantRan(t, "released", 2)
				return
			}
			if word[status] == "unknown" {
				if first.word() != "unknown" {
					t.Errorf("got %q, want unknown", first.word())
				}
				wantProblem(t, second, http.StatusConflict, "outcome-unknown")
				invoices.wantRan(t, "promise 3", 1)
				return
			}
			if first.word() != "executed" {
				t.Errorf("got %q, want executed", first.word())
			}
			wantReplay(t, first, second)
			invoices.wantRan(t, "promise 2", 1)
		})
	}
}

// TestOn5xx: promise 3: a failure ends as the options say. A panic is released by none of them.
func TestOn5xx(t *testing.T) {
	t.Parallel()
	fails := map[string]http.HandlerFunc{
		"500": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Internal Server Error", http.StatusInternalServerError)
		},
		"panic": func(http.ResponseWriter, *http.Request) { panic("no") },
		"panic after a status": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Half", "1")
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, "half")
			panic("no")
		},
		"abort": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	for name, fail := range fails {
		for on5xx, want := range map[semelhttp.On5xx]string{
			semelhttp.ReleaseOn5xx: "released", semelhttp.StoreOn5xx: "executed", semelhttp.UnknownOn5xx: "unknown",
		} {
			option := want
			if on5xx == semelhttp.ReleaseOn5xx && name != "500" {
				want = "unknown"
			}
			t.Run(name+" "+option, func(t *testing.T) {
				t.Parallel()
				var invoices counter
				d := newDoor(t, doorOptions{Options: semelhttp.Options{On5xx: on5xx}})
				handler := d.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					invoices.ran.Add(1)
					fail(w, r)
				}))
				server := newServer(t, recovering(handler))
				first := ask(t, server, "k1", "x")
				if first.status != http.StatusInternalServerError || first.word() != want {
					t.Errorf("first: got %d %q, want 500 %q", first.status, first.word(), want)
				}
				second := ask(t, server, "k1", "x")
				switch want {
				case "released":
					invoices.wantRan(t, "released", 2)
				case "executed":
					if second.status != http.StatusInternalServerError || second.word() != "replayed" || strings.Contains(second.body, "half") {
						t.Errorf("second: got %d %q %q, want a replayed 500", second.status, second.word(), second.body)
					}
					invoices.wantRan(t, "promise 2", 1)
				case "unknown":
					wantProblem(t, second, http.StatusConflict, "outcome-unknown")
					invoices.wantRan(t, "promise 3", 1)
				}
				if live := d.guard.LiveClaims(); live != 0 {
					t.Errorf("%d claims are open", live)
				}
			})
		}
	}
}

// recovering is an outer handler that answers 500 after a panic.
func recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if recover() != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// TestPanicPasses: the panic stays the handler's, value and all.
func TestPanicPasses(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	handler := d.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer func() {
		if got := recover(); got != http.ErrAbortHandler { //nolint:errorlint // a panic's value is compared.
			t.Errorf("got %v, want the handler's panic", got)
		}
	}()
	handle(t, handler, "/", "x", "Idempotency-Key", "k1")
}

// TestPanicInStream: what was recorded before the stream stays so.
func TestPanicInStream(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{})
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		invoices.ran.Add(1)
		fmt.Fprint(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	if first := ask(t, server, "k1", "x"); first.err == nil {
		t.Errorf("got %q, want a broken answer", first.body)
	}
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "response-not-kept")
	invoices.wantRan(t, "promise 3", 1)
}

// TestDisconnect: the client going away stops neither the work nor its record.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	var invoices counter
	running, gone := make(chan struct{}), make(chan struct{})
	d := newDoor(t, doorOptions{})
	server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
		close(running)
		<-gone
		if err := r.Context().Err(); err != nil {
			t.Errorf("the handler's context ended with the connection: %v", err)
		}
		if body, err := io.ReadAll(r.Body); string(body) != "x" || err != nil {
			t.Errorf("the body ended with the connection: %q, %v", body, err)
		}
		invoices.create(w, r)
	})
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-running
		leave()
	}()
	r := newAsk(t, server.URL+"/invoices", "x", "Idempotency-Key", "k1").WithContext(ctx)
	if _, err := server.Client().Do(r); !errors.Is(err, context.Canceled) { //nolint:bodyclose // there is none.
		t.Fatal(err)
	}
	close(gone)
	second := ask(t, server, "k1", "x")
	if second.word() != "replayed" || second.body != `{"id":1}` {
		t.Errorf("got %d %q %q, want a replay", second.status, second.word(), second.body)
	}
	invoices.wantRan(t, "promise 3", 1)
}

// TestDeadline: the work is bounded by MaxRun, and cut off halfway it is unknown
// (promise 3), not released.
func TestDeadline(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]http.HandlerFunc{
		"500":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"429":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"panic": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDoor(t, doorOptions{policy: semel.Policy{MaxRun: time.Minute}, store: memstore.New(nil)})
				ran := 0
				handler := recovering(d.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					ran++
					<-r.Context().Done()
					if cause := context.Cause(r.Context()); !errors.Is(cause, context.DeadlineExceeded) {
						t.Errorf("got the cause %v, want a deadline", cause)
					}
					end(w, r)
				})))
				for i, want := range []string{"unknown", "outcome-unknown"} {
					w := handle(t, handler, "/", "x", "Idempotency-Key", "k1")
					if i == 0 && w.Header().Get(semelhttp.StatusHeader) != want {
						t.Errorf("promise 3: got %v, want %s", w.Header(), want)
					}
					if i == 1 && !strings.Contains(w.Body.String(), want) {
						t.Errorf("promise 3: got %s, want %s", w.Body, want)
					}
				}
				if ran != 1 {
					t.Errorf("promise 3: the handler ran %d times, want 1", ran)
				}
				noError(t, d.guard.Close())
			})
		})
	}
}

// TestLostClaim: a handler whose claim is lost is notified, and its answer is not
// passed off as recorded (promise 7).
func TestLostClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := storetest.Break(memstore.New(nil), storetest.Faults{})
		d := newDoor(t, doorOptions{store: store})
		handler := d.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			store.Partition()
			<-r.Context().Done()
			if cause := context.Cause(r.Context()); !errors.Is(cause, semel.ErrLost) {
				t.Errorf("got the cause %v, want that the claim was lost", cause)
			}
			w.WriteHeader(http.StatusCreated)
		}))
		w := handle(t, handler, "/", "x", "Idempotency-Key", "k1")
		if got := w.Header().Get(semelhttp.StatusHeader); w.Code != http.StatusCreated || got != "not-stored" {
			t.Errorf("promise 7: got %d %q, want 201 not-stored", w.Code, got)
		}
		noError(t, d.guard.Close())
	})
}

// TestDispose: a handler's word outranks the status of its answer.
func TestDispose(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		status int
		state  semel.State
		word   string
	}{
		{"a stored 502", http.StatusBadGateway, semel.StateCompleted, "executed"},
		{"an unknown 502", http.StatusBadGateway, semel.StateUnknown, "unknown"},
		{"a released 404", http.StatusNotFound, semel.StateReleased, "released"},
		{"a released 500", http.StatusInternalServerError, semel.StateReleased, "released"},
		{"nonsense", http.StatusOK, semel.StateClaimed, "executed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, doorOptions{})
			server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
				semelhttp.Dispose(r.Context(), test.state, "because")
				w.WriteHeader(test.status)
			})
			if got := ask(t, server, "k1", "x"); got.status != test.status || got.word() != test.word {
				t.Errorf("got %d %q, want %d %q", got.status, got.word(), test.status, test.word)
			}
		})
	}
	semelhttp.Dispose(t.Context(), semel.StateUnknown, "without a claim it does nothing")
}

// TestPanicKeepsTheNote: what the handler said before it panicked is for
// operators too.
func TestPanicKeepsTheNote(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	server := newServer(t, recovering(d.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		semelhttp.Dispose(r.Context(), semel.StateUnknown, "the bank hung up")
		panic("no")
	}))))
	if got := ask(t, server, "k1", "x"); got.word() != "unknown" {
		t.Errorf("got %q, want unknown (promise 3)", got.word())
	}
	d.mu.Lock()
	digest := d.decisions[0].Digest
	d.mu.Unlock()
	rec, err := d.store.Lookup(t.Context(), digest)
	if want := "panic after: the bank hung up"; err != nil || rec.Note != want {
		t.Errorf("got the note %q, %v, want %q", rec.Note, err, want)
	}
}

// TestOwnSettlement: a handler that settles its claim itself is respected.
func TestOwnSettlement(t *testing.T) {
	t.Parallel()
	mine := must.Get((&semelhttp.Response{Status: http.StatusAccepted, Body: []byte("mine")}).MarshalBinary())
	d := newDoor(t, doorOptions{})
	server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
		if err := semel.ClaimFrom(r.Context()).Complete(mine, nil); err != nil { //nolint:contextcheck // a claim has its own.
			t.Error(err)
		}
		fmt.Fprint(w, "live")
	})
	if first := ask(t, server, "k1", "x"); first.body != "live" || first.word() != "executed" {
		t.Errorf("got %q %q, want live, executed", first.body, first.word())
	}
	if second := ask(t, server, "k1", "x"); second.status != http.StatusAccepted || second.body != "mine" {
		t.Errorf("got %d %q, want what the handler recorded", second.status, second.body)
	}
}

// TestForeignOutcome: an outcome that another door recorded is not an answer.
func TestForeignOutcome(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	server := d.serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_ = semel.ClaimFrom(r.Context()).Complete([]byte(`{"semel":1}`), nil) //nolint:contextcheck // a claim has its own.
	})
	ask(t, server, "k1", "x")
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "response-not-kept")
}

// TestRequestReachesHandler: everything of the request but its body is
// untouched, and the body reads the same.
func TestRequestReachesHandler(t *testing.T) {
	t.Parallel()
	type key struct{}
	d := newDoor(t, doorOptions{})
	inner := d.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if string(body) != "hello" || err != nil {
			t.Errorf("body: %q, %v", body, err)
		}
		if got := r.Header.Get("Authorization"); got != "Bearer a" {
			t.Errorf("Authorization: %q", got)
		}
		if r.ContentLength != 5 || r.Context().Value(key{}) != "outer" || semel.FenceFrom(r.Context()) == 0 {
			t.Errorf("got length %d, value %v, fence %d", r.ContentLength, r.Context().Value(key{}), semel.FenceFrom(r.Context()))
		}
		if got := r.PathValue("id"); got != "7" {
			t.Errorf("path value: %q", got)
		}
		if err := r.Body.Close(); err != nil {
			t.Error(err)
		}
		if _, err := r.Body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
			t.Errorf("after closing: %v", err)
		}
	}))
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders/{id}/invoices", func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, "outer")))
	})
	server := newServer(t, mux)
	got := sendAsk(t, server, newAsk(t, server.URL+"/orders/7/invoices", "hello", "Idempotency-Key", "k1", "Authorization", "Bearer a"))
	if got.word() != "executed" {
		t.Errorf("got %d %q", got.status, got.word())
	}
}

// TestDecision: what logs and metrics learn.
func TestDecision(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /invoices", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	server := newServer(t, d.Handler(mux))
	ask(t, server, "k1", "x")
	ask(t, server, "k1", "x")
	ask(t, server, "k1", "y")
	digest := d.guard.Digest(semel.Key{Name: "k1", Scope: func() string {
		return must.Get(semelhttp.ScopeBy(anonymous)(newAsk(t, server.URL+"/invoices", "")))
	}()})
	d.mu.Lock()
	defer d.mu.Unlock()
	fence := d.decisions[0].Fence
	want := []semelhttp.Decision{
		{Outcome: "executed", Executed: true, Status: 201, Digest: digest, Fence: fence, Attempt: 1, Method: "POST", Pattern: "POST /invoices"},
		{Outcome: "replayed", Status: 201, Digest: digest, Fence: fence, Attempt: 1, Method: "POST"},
		{Outcome: "mismatch", Status: 422, Digest: digest, Method: "POST"},
	}
	for i := range d.decisions {
		if got := &d.decisions[i]; got.Took <= 0 || got.Begin <= 0 || got.Begin > got.Took || got.Fence == 0 && i < 2 {
			t.Errorf("%s: took %v, begin %v, fence %d", got.Outcome, got.Took, got.Begin, got.Fence)
		}
		d.decisions[i].Took, d.decisions[i].Begin, d.decisions[i].Err = 0, 0, nil
	}
	if diff := cmp.Diff(want, d.decisions); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}
