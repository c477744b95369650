package semelhttp_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storefault"
)

// counter is a handler that creates one more invoice each time it runs.
type counter struct{ ran atomic.Int64 }

func (c *counter) create(w http.ResponseWriter, _ *http.Request) {
	n := strconv.FormatInt(c.ran.Add(1), 10)
	w.Header().Set("Location", "/invoices/"+n)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write([]byte(`{"id":` + n + `}`))
}

func (c *counter) wantRan(t *testing.T, promise string, want int64) {
	t.Helper()
	if got := c.ran.Load(); got != want {
		t.Errorf("%s: the handler ran %d times, want %d", promise, got, want)
	}
}

func wantOutcomes(t *testing.T, d *door, want ...semelhttp.Outcome) {
	t.Helper()
	if diff := cmp.Diff(want, d.outcomes()); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}

func wantProblem(t *testing.T, got *reply, status int, name string) {
	t.Helper()
	if got.status != status || got.problem() != name {
		t.Errorf("got %d %q (%s), want %d %q", got.status, got.problem(), got.body, status, name)
	}
}

// wantReplay checks that second is first again (promise 2).
func wantReplay(t *testing.T, first, second *reply) {
	t.Helper()
	if second.word() != "replayed" || second.header.Get(semelhttp.ReplayedHeader) != "true" {
		t.Errorf("promise 2: got %d %v %q, want a replay", second.status, second.header, second.body)
	}
	a, b := *first, *second
	a.header, b.header = first.header.Clone(), second.header.Clone()
	for _, name := range []string{semelhttp.StatusHeader, semelhttp.ReplayedHeader, "Date"} {
		a.header.Del(name)
		b.header.Del(name)
	}
	if diff := cmp.Diff(a, b, cmp.AllowUnexported(reply{})); diff != "" {
		t.Errorf("promise 2: replay (-first +second):\n%s", diff)
	}
}

// TestReplay: promise 2, the first and the second row of the table.
func TestReplay(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{})
	server := d.serve(t, invoices.create)
	first := ask(t, server, "k1", `{"amount":1}`)
	if first.status != http.StatusCreated || first.word() != "executed" {
		t.Errorf("first: got %d %q, want 201 executed", first.status, first.word())
	}
	wantReplay(t, first, ask(t, server, "k1", `{"amount":1}`))
	invoices.wantRan(t, "promise 2", 1)
	wantOutcomes(t, d, "executed", "replayed")
}

// TestDuplicatesWait: promise 1 and 2, the third row: however many arrive at
// once, one runs and all get its answer.
func TestDuplicatesWait(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 10, 100} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			var invoices counter
			running, finish := make(chan struct{}), make(chan struct{})
			d := newDoor(t, doorOptions{policy: semel.Policy{Wait: time.Minute}})
			server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
				close(running) // a second run panics
				<-finish
				invoices.create(w, r)
			})
			replies := make([]*reply, n)
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() { replies[i] = ask(t, server, "k1", "x") })
			}
			<-running
			waiting := min(n-1, semel.DefaultWaitersPerKey)
			for d.guard.Waiting() < waiting {
				<-time.After(time.Millisecond)
			}
			close(finish)
			all.Wait()
			executed := 0
			for _, r := range replies {
				switch {
				case r.word() == "executed":
					executed++
				case r.problem() == "in-flight" && n > semel.DefaultWaitersPerKey: // promise 8
				case r.status != http.StatusCreated || r.word() != "replayed" || r.body != `{"id":1}`:
					t.Errorf("got %d %q %s, want a replay", r.status, r.word(), r.body)
				}
			}
			if executed != 1 {
				t.Errorf("%d replies were executed, want 1", executed)
			}
			invoices.wantRan(t, "promise 1", 1)
		})
	}
}

// TestInFlight: the third row, when patience ends.
func TestInFlight(t *testing.T) {
	t.Parallel()
	var invoices counter
	running, finish := make(chan struct{}), make(chan struct{})
	d := newDoor(t, doorOptions{policy: semel.Policy{Wait: semel.NoWait}})
	server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
		close(running)
		<-finish
		invoices.create(w, r)
	})
	var first sync.WaitGroup
	first.Go(func() { ask(t, server, "k1", "x") })
	<-running
	second := ask(t, server, "k1", "x")
	wantProblem(t, second, http.StatusConflict, "in-flight")
	if after := second.header.Get("Retry-After"); after != "1" {
		t.Errorf("Retry-After: got %q, want 1", after)
	}
	other := ask(t, server, "k1", "y") // promise 6, while it runs
	wantProblem(t, other, http.StatusUnprocessableEntity, "key-reused")
	close(finish)
	first.Wait()
	invoices.wantRan(t, "promise 1", 1)
}

// TestMismatch: promise 6, whatever differs.
func TestMismatch(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{
		scope:   func(*http.Request) (string, error) { return semel.ScopeGlobal, nil },
		Options: semelhttp.Options{Fingerprint: semelhttp.FingerprintOptions{Headers: []string{"x-tenant"}}},
	})
	server := d.serve(t, invoices.create)
	ask(t, server, "k1", "secret answer", "X-Tenant", "a", "Content-Type", "text/plain")
	for name, r := range map[string]*http.Request{
		"body":         newAsk(t, server.URL+"/invoices", "other", "X-Tenant", "a", "Content-Type", "text/plain"),
		"path":         newAsk(t, server.URL+"/other", "secret answer", "X-Tenant", "a", "Content-Type", "text/plain"),
		"query":        newAsk(t, server.URL+"/invoices?a=1", "secret answer", "X-Tenant", "a", "Content-Type", "text/plain"),
		"content type": newAsk(t, server.URL+"/invoices", "secret answer", "X-Tenant", "a", "Content-Type", "text/html"),
		"header":       newAsk(t, server.URL+"/invoices", "secret answer", "X-Tenant", "b", "Content-Type", "text/plain"),
		"header twice": newAsk(t, server.URL+"/invoices", "secret answer", "X-Tenant", "a", "X-Tenant", "a", "Content-Type", "text/plain"),
		"no header":    newAsk(t, server.URL+"/invoices", "secret answer", "Content-Type", "text/plain"),
	} {
		r.Header.Set("Idempotency-Key", "k1")
		got := sendAsk(t, server, r)
		wantProblem(t, got, http.StatusUnprocessableEntity, "key-reused")
		if strings.Contains(got.body, `"id"`) || strings.Contains(got.body, "location") || strings.Contains(got.body, "recorded") {
			t.Errorf("promise 6: another %s reveals the answer: %s", name, got.body)
		}
	}
	other := newAsk(t, server.URL+"/invoices", "secret answer", "X-Tenant", "a", "Content-Type", "text/plain", "Idempotency-Key", "k1")
	other.Method = http.MethodPatch
	wantProblem(t, sendAsk(t, server, other), http.StatusUnprocessableEntity, "key-reused")
	invoices.wantRan(t, "promise 6", 1)
}

// TestRequired: the fifth row.
func TestRequired(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{Options: semelhttp.Options{Required: true}})
	server := d.serve(t, invoices.create)
	got := ask(t, server, "", "x")
	wantProblem(t, got, http.StatusBadRequest, "key-missing")
	if link := got.header.Get("Link"); link != `</.well-known/idempotency>; rel="describedby"` {
		t.Errorf("Link: got %q", link)
	}
	invoices.wantRan(t, "required", 0)
	wantOutcomes(t, d, "key-missing")
}

// TestWithoutKey: optional keys and other methods pass untouched.
func TestWithoutKey(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{})
	server := d.serve(t, invoices.create)
	for range 2 {
		if got := ask(t, server, "", "x"); got.status != http.StatusCreated || got.word() != "" {
			t.Errorf("got %d %q, want 201 and no word", got.status, got.word())
		}
	}
	get := newAsk(t, server.URL, "", "Idempotency-Key", "k1", "Idempotency-Key", "k2")
	get.Method = http.MethodGet
	if got := sendAsk(t, server, get); got.status != http.StatusCreated || got.word() != "" {
		t.Errorf("GET: got %d %q, want 201 and no word", got.status, got.word())
	}
	invoices.wantRan(t, "no key", 3)
	wantOutcomes(t, d)
}

// TestCancelled: the last row.
func TestCancelled(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{scope: func(*http.Request) (string, error) { return "s", nil }})
	server := d.serve(t, invoices.create)
	if _, err := d.guard.Cancel(t.Context(), semel.Key{Scope: "s", Name: "k1"}, "no more"); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "cancelled")
	invoices.wantRan(t, "cancelled", 0)
}

// TestUnknown: the sixth row, after the holder crashed.
func TestUnknown(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{Options: semelhttp.Options{On5xx: semelhttp.UnknownOn5xx}})
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		invoices.ran.Add(1)
		w.WriteHeader(http.StatusBadGateway)
	})
	if got := ask(t, server, "k1", "x"); got.status != http.StatusBadGateway || got.word() != "unknown" {
		t.Errorf("got %d %q, want 502 unknown", got.status, got.word())
	}
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "outcome-unknown")
	invoices.wantRan(t, "promise 3", 1)
	wantOutcomes(t, d, "unknown", "unknown")
}

// TestDedupMode: a duplicate is stopped and told so.
func TestDedupMode(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{policy: semel.Policy{Mode: semel.Dedup}})
	server := d.serve(t, invoices.create)
	ask(t, server, "k1", "x")
	got := ask(t, server, "k1", "x")
	wantProblem(t, got, http.StatusConflict, "duplicate")
	if !strings.Contains(got.body, `"location":"/invoices/1"`) || !strings.Contains(got.body, `"recorded_status":201`) {
		t.Errorf("got %s, want what was recorded", got.body)
	}
	invoices.wantRan(t, "dedup mode", 1)
}

// TestStoreDown: promise 10, the last row.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	down := storefault.Wrap(memstore.New(nil), storefault.Plan{})
	down.Partition()
	t.Run("nothing executes", func(t *testing.T) {
		t.Parallel()
		var invoices counter
		d := newDoor(t, doorOptions{store: down})
		got := ask(t, d.serve(t, invoices.create), "k1", "x")
		wantProblem(t, got, http.StatusServiceUnavailable, "store-unavailable")
		if got.header.Get("Retry-After") == "" || !strings.Contains(got.body, `"retryable":true`) {
			t.Errorf("got %v %s, want it to be retryable", got.header, got.body)
		}
		invoices.wantRan(t, "promise 10", 0)
	})
	t.Run("fail open is visible", func(t *testing.T) {
		t.Parallel()
		var invoices counter
		d := newDoor(t, doorOptions{store: down, Options: semelhttp.Options{FailOpen: true}})
		got := ask(t, d.serve(t, invoices.create), "k1", "x")
		if got.status != http.StatusCreated || got.word() != "unprotected" {
			t.Errorf("promise 10: got %d %q, want 201 unprotected", got.status, got.word())
		}
		wantOutcomes(t, d, "unprotected")
	})
	t.Run("fail open does not run beside a running twin", func(t *testing.T) {
		t.Parallel()
		var invoices counter
		half := storefault.Wrap(memstore.New(nil), storefault.Plan{Faults: []storefault.Fault{{Verb: storefault.Lookup, Kind: storefault.FailBefore}}})
		d := newDoor(t, doorOptions{store: half, Options: semelhttp.Options{FailOpen: true}})
		running, finish := make(chan struct{}), make(chan struct{})
		server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
			close(running)
			<-finish
			invoices.create(w, r)
		})
		var first sync.WaitGroup
		first.Go(func() { ask(t, server, "k1", "x") })
		<-running
		wantProblem(t, ask(t, server, "k1", "x"), http.StatusServiceUnavailable, "store-unavailable")
		close(finish)
		first.Wait()
		invoices.wantRan(t, "promise 10", 1)
	})
}

// TestNotStored: promise 7: what could not be recorded is marked, and not run
// again (promise 3).
func TestNotStored(t *testing.T) {
	t.Parallel()
	var invoices counter
	broken := storefault.Wrap(memstore.New(nil), storefault.Plan{Faults: []storefault.Fault{{Verb: storefault.Settle, Kind: storefault.FailBefore}}})
	d := newDoor(t, doorOptions{store: broken, policy: semel.Policy{Wait: semel.NoWait}})
	server := d.serve(t, invoices.create)
	got := ask(t, server, "k1", "x")
	if got.status != http.StatusCreated || got.word() != "not-stored" {
		t.Errorf("promise 7: got %d %q, want 201 not-stored", got.status, got.word())
	}
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "in-flight")
	invoices.wantRan(t, "promise 3", 1)
	wantOutcomes(t, d, "not-stored", "in-flight")
}

// TestAnswerAfterRecord: promise 7: when the first byte arrives, the outcome is
// recorded.
func TestAnswerAfterRecord(t *testing.T) {
	t.Parallel()
	var order []string
	store := storefault.Wrap(memstore.New(nil), storefault.Plan{After: func(op storefault.Op) error {
		order = append(order, string(op.Verb))
		return nil
	}})
	d := newDoor(t, doorOptions{store: store})
	w := &recorder{discard: discard{header: http.Header{}}, wrote: func() { order = append(order, "write") }}
	var invoices counter
	d.Handler(http.HandlerFunc(invoices.create)).ServeHTTP(w, newAsk(t, "http://a/invoices", "x", "Idempotency-Key", "k1"))
	if diff := cmp.Diff([]string{"claim", "settle", "write", "write"}, order); diff != "" {
		t.Errorf("promise 7 (-want +got):\n%s", diff)
	}
}

// recorder tells when it is written to.
type recorder struct {
	discard
	wrote func()
}

func (r *recorder) WriteHeader(int) { r.wrote() }

func (r *recorder) Write(p []byte) (int, error) {
	r.wrote()
	return len(p), nil
}

// TestShuttingDown: a guard that drains refuses.
func TestShuttingDown(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{Options: semelhttp.Options{FailOpen: true}})
	server := d.serve(t, invoices.create)
	if err := d.guard.Close(); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusServiceUnavailable, "shutting-down")
	invoices.wantRan(t, "shutting down", 0)
}

// TestScope: promise 5: scopes never see each other, and a request without one
// is refused.
func TestScope(t *testing.T) {
	t.Parallel()
	var invoices counter
	user := func(r *http.Request) string { return r.Header.Get("X-User") }
	d := newDoor(t, doorOptions{scope: semelhttp.ScopeBy(user)})
	server := d.serve(t, invoices.create)
	for _, who := range []string{"ann", "bo"} {
		if got := ask(t, server, "k1", "x", "X-User", who); got.word() != "executed" {
			t.Errorf("promise 5: %s got %q, want executed", who, got.word())
		}
	}
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusBadRequest, "key-invalid")
	invoices.wantRan(t, "promise 5", 2)
}

// TestScopeErrors: a scope function's trouble is the service's, and stays there.
func TestScopeErrors(t *testing.T) {
	t.Parallel()
	for name, scope := range map[string]semelhttp.ScopeFunc{
		"error":             func(*http.Request) (string, error) { return "", errors.New("the password is hunter2") },
		"error of the core": func(*http.Request) (string, error) { return "", semel.ErrKeyInvalid },
		"too long":          func(*http.Request) (string, error) { return strings.Repeat("s", semel.MaxScopeBytes+1), nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var invoices counter
			d := newDoor(t, doorOptions{scope: scope})
			got := ask(t, d.serve(t, invoices.create), "k1", "x")
			wantProblem(t, got, http.StatusInternalServerError, "internal")
			if strings.Contains(got.body, "hunter2") {
				t.Errorf("the caller sees %s", got.body)
			}
			invoices.wantRan(t, "scope error", 0)
		})
	}
}

// TestAuthorisationBeforeReplay: promise 5: mounted inside of what authorises,
// a replay needs the right that the execution needed.
func TestAuthorisationBeforeReplay(t *testing.T) {
	t.Parallel()
	var invoices counter
	var revoked atomic.Bool
	d := newDoor(t, doorOptions{})
	inner := d.Handler(http.HandlerFunc(invoices.create))
	server := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if revoked.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	ask(t, server, "k1", "x")
	revoked.Store(true)
	if got := ask(t, server, "k1", "x"); got.status != http.StatusForbidden || got.body != "" {
		t.Errorf("promise 5: got %d %q, want 403 and nothing else", got.status, got.body)
	}
}

// TestMountedTwice: a request that holds the claim does not wait for itself.
func TestMountedTwice(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{})
	twice := d.Handler(http.HandlerFunc(invoices.create))
	server := newServer(t, d.Handler(twice))
	first := ask(t, server, "k1", "x")
	if first.word() != "executed" {
		t.Errorf("got %d %q, want executed", first.status, first.word())
	}
	wantReplay(t, first, ask(t, server, "k1", "x"))
	wantOutcomes(t, d, "executed", "replayed")
}

// TestNew: what cannot work is said at once.
func TestNew(t *testing.T) {
	t.Parallel()
	guard, err := semel.New(memstore.New(nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guard.Close() })
	scope := semelhttp.ScopeBy(anonymous)
	for name, try := range map[string]func() error{
		"no guard":       func() error { _, err := semelhttp.New(nil, scope, nil); return err },
		"no scope":       func() error { _, err := semelhttp.New(guard, nil, nil); return err },
		"negative bound": func() error { _, err := semelhttp.New(guard, scope, &semelhttp.Options{MaxBodyBytes: -1}); return err },
		"response bound": func() error {
			_, err := semelhttp.New(guard, scope, &semelhttp.Options{MaxResponseBytes: 1 << 30})
			return err
		},
		"on 5xx": func() error { _, err := semelhttp.New(guard, scope, &semelhttp.Options{On5xx: 9}); return err },
		"policy URL": func() error {
			_, err := semelhttp.New(guard, scope, &semelhttp.Options{PolicyURL: "a\r\nb"})
			return err
		},
		"pointer": func() error {
			_, err := semelhttp.New(guard, scope, &semelhttp.Options{Key: semelhttp.FromJSONPointer("id")})
			return err
		},
		"no fields": func() error {
			_, err := semelhttp.New(guard, scope, &semelhttp.Options{Key: semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{}})})
			return err
		},
	} {
		if err := try(); err == nil || !strings.HasPrefix(err.Error(), "semelhttp: ") {
			t.Errorf("%s: got %v, want an error of this package", name, err)
		}
	}
}
