package semelhttp_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
)

// TestFlood: promise 8: of a thousand duplicates that come while the first runs,
// as many wait as may, and all others are sent away while it still runs; other
// keys of the same scope are served in the meantime, and nothing is left behind.
func TestFlood(t *testing.T) {
	t.Parallel()
	const duplicates, others = 1000, 100
	var invoices counter
	running, finish := make(chan struct{}), make(chan struct{})
	d := newDoor(t, doorOptions{policy: semel.Policy{Wait: time.Minute}, timeout: time.Minute}) // on a busy machine the store is slow, not broken
	server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Idempotency-Key") == "k1" {
			close(running) // a second run panics
			<-finish
		}
		invoices.create(w, r)
	})
	replies := make(chan *reply, duplicates+1)
	var all sync.WaitGroup
	send := func() { all.Go(func() { replies <- ask(t, server, "k1", "x") }) }
	send()
	<-running
	for range duplicates {
		send()
	}
	for range duplicates - 64 { // the first is not over, so these did not wait for it
		got := <-replies
		wantProblem(t, got, http.StatusConflict, "in-flight")
		if got.header.Get("Retry-After") == "" {
			t.Errorf("sent away without a time: %v", got.header)
		}
	}
	if n := d.guard.Waiting(); n != 64 {
		t.Errorf("promise 8: %d wait, want %d", n, 64)
	}
	for i := range others {
		if got := ask(t, server, fmt.Sprint("other-", i), "x"); got.word() != "executed" {
			t.Fatalf("promise 8: another key got %d %s", got.status, got.body)
		}
	}
	close(finish)
	all.Wait()
	words := map[string]int{}
	for range 64 + 1 {
		words[(<-replies).word()]++
	}
	if words["executed"] != 1 || words["replayed"] != 64 {
		t.Errorf("got %v, want one execution and its replays", words)
	}
	if d.guard.Waiting() != 0 || d.guard.LiveClaims() != 0 {
		t.Errorf("promise 8: %d waiters and %d claims are left", d.guard.Waiting(), d.guard.LiveClaims())
	}
	invoices.wantRan(t, "promise 1", 1+others)
}
