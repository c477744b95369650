package semelhttp_test

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/semelhttp"
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

// TestReplay: promise 2, the first and the second row of the table.
func TestReplay(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{})
	server := d.serve(t, invoices.create)
	first := ask(t, server, "k1", `{"amount":1}`)
	second := ask(t, server, "k1", `{"amount":1}`)

	if got := invoices.ran.Load(); got != 1 {
		t.Errorf("promise 2: the handler ran %d times, want 1", got)
	}
	if first.status != http.StatusCreated || first.word() != "executed" {
		t.Errorf("first: got %d %q, want 201 executed", first.status, first.word())
	}
	if second.word() != "replayed" || second.header.Get(semelhttp.ReplayedHeader) != "true" {
		t.Errorf("second: got %v, want a replay", second.header)
	}
	for _, name := range []string{semelhttp.StatusHeader, semelhttp.ReplayedHeader, "Date"} {
		first.header.Del(name)
		second.header.Del(name)
	}
	if diff := cmp.Diff(first, second, cmp.AllowUnexported(reply{})); diff != "" {
		t.Errorf("promise 2: replay (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff([]semelhttp.Outcome{"executed", "replayed"}, d.outcomes()); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}
