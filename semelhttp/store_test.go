package semelhttp_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

// TestStoreDown: promise 10, the last row.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	down := storetest.Break(memstore.New(nil), storetest.Faults{})
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
	t.Run("fail open does not run next to a running twin", func(t *testing.T) {
		t.Parallel()
		var invoices counter
		half := storetest.Break(memstore.New(nil), storetest.Faults{Before: failing("lookup")})
		d := newDoor(t, doorOptions{store: half, Options: semelhttp.Options{FailOpen: true}})
		server, finish := d.busy(t, &invoices)
		wantProblem(t, ask(t, server, "k1", "x"), http.StatusServiceUnavailable, "store-unavailable")
		finish()
		invoices.wantRan(t, "promise 10", 1)
	})
}

// TestFailOpenKnowsTheRecord: promise 3: fail-open executes when nothing is
// known, and not when the store reported a record before it went away.
func TestFailOpenKnowsTheRecord(t *testing.T) {
	t.Parallel()
	for name, verb := range map[string]string{"while taking over": "claim", "after it was found to have happened": "settle"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var invoices counter
			var away atomic.Bool
			store := storetest.Break(memstore.New(nil), storetest.Faults{Before: func(op storetest.Call) error {
				if met := op.N > 2 || verb == "settle"; op.Verb == verb && met && away.Load() {
					return storetest.ErrInjected
				}
				return nil
			}})
			d := newDoor(t, doorOptions{store: store, Options: semelhttp.Options{FailOpen: true}, policy: semel.Policy{
				OnUnknown: semel.Reconcile,
				Reconcile: func(context.Context, semel.Record) (semel.Reconciliation, error) {
					return semel.Reconciliation{Verdict: semel.Happened}, nil
				},
			}})
			server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
				semelhttp.Dispose(r.Context(), semel.StateUnknown, "the bank hung up")
				invoices.create(w, r)
			})
			ask(t, server, "k1", "x")
			away.Store(true)
			status, problem := http.StatusServiceUnavailable, "store-unavailable"
			if verb == "settle" { // it happened: that nothing was done would be untrue
				status, problem = http.StatusConflict, "outcome-unknown"
			}
			wantProblem(t, ask(t, server, "k1", "x"), status, problem)
			invoices.wantRan(t, "promise 3", 1)
		})
	}
}

// TestFailOpenIsNotForTheFull: promise 3: a guard that holds as many claims as it
// may is not an unreachable store; a copy of what runs does not run.
func TestFailOpenIsNotForTheFull(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{live: 1, Options: semelhttp.Options{FailOpen: true}})
	server, finish := d.busy(t, &invoices)
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusServiceUnavailable, "store-unavailable")
	finish()
	invoices.wantRan(t, "promise 3", 1)
}

// TestNotStored: promise 7: what could not be recorded is marked, and not run
// again (promise 3).
func TestNotStored(t *testing.T) {
	t.Parallel()
	var invoices counter
	broken := storetest.Break(memstore.New(nil), storetest.Faults{Before: failing("settle")})
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
	store := storetest.Break(memstore.New(nil), storetest.Faults{After: func(op storetest.Call) error {
		order = append(order, op.Verb)
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
	d, server, invoices := serveInvoices(t, doorOptions{Options: semelhttp.Options{FailOpen: true}})
	noError(t, d.guard.Close())
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusServiceUnavailable, "shutting-down")
	invoices.wantRan(t, "shutting down", 0)
}

// failing fails every call of a verb before it is taken.
func failing(verb string) func(storetest.Call) error {
	return func(c storetest.Call) error {
		if c.Verb == verb {
			return storetest.ErrInjected
		}
		return nil
	}
}

// discard is a response writer that costs nothing.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}
