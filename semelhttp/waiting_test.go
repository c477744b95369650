package semelhttp_test

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

// TestDuplicatesWait: promise 1 and 2, the third row: however many arrive at
// once, one runs and all get its answer.
func TestDuplicatesWait(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 10, 100} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			var invoices counter
			running, finish := make(chan struct{}), make(chan struct{})
			d := newDoor(t, doorOptions{policy: semel.Policy{Wait: time.Minute}, timeout: time.Minute})
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
			waiting := min(n-1, 64)
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
				case r.problem() == "in-flight" && n > 64: // promise 8
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
	d := newDoor(t, doorOptions{policy: semel.Policy{Wait: semel.NoWait}})
	server, finish := d.busy(t, &invoices)
	second := ask(t, server, "k1", "x")
	wantProblem(t, second, http.StatusConflict, "in-flight")
	if after := second.header.Get("Retry-After"); after != "1" {
		t.Errorf("Retry-After: got %q, want 1", after)
	}
	other := ask(t, server, "k1", "y") // promise 6, while it runs
	wantProblem(t, other, http.StatusUnprocessableEntity, "key-reused")
	finish()
	invoices.wantRan(t, "promise 1", 1)
}

// TestLeavingWhileWaiting: a duplicate whose caller goes away is reported as such, and
// changes nothing.
func TestLeavingWhileWaiting(t *testing.T) {
	t.Parallel()
	var invoices counter
	told := make(chan struct{}, 2)
	d := newDoor(t, doorOptions{
		policy:  semel.Policy{Wait: time.Minute},
		Options: semelhttp.Options{OnDecision: func(context.Context, semelhttp.Decision) { told <- struct{}{} }},
	})
	server, finish := d.busy(t, &invoices)
	ctx, leave := context.WithCancel(t.Context())
	var second sync.WaitGroup
	second.Go(func() {
		res, err := server.Client().Do(newAsk(t, server.URL+"/invoices", "x", "Idempotency-Key", "k1").WithContext(ctx)) //nolint:contextcheck // it gets one in the same line.
		if err == nil {
			res.Body.Close()
			t.Error("the caller that left got an answer")
		}
	})
	for d.guard.Waiting() == 0 {
		<-time.After(time.Millisecond)
	}
	leave()
	second.Wait()
	<-told
	finish()
	<-told
	wantOutcomes(t, d, "aborted", "executed")
	invoices.wantRan(t, "promise 1", 1)
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
