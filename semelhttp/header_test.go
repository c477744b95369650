package semelhttp_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

// TestHeaderPolicy: promise 5: what belongs to a session, a connection or a
// moment is sent live, and never replayed.
func TestHeaderPolicy(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Set-Cookie", "session=1")
		h["set-cookie"] = []string{"other=2"}
		h.Set("Authorization", "Bearer a")
		h.Set("WWW-Authenticate", "Basic")
		h.Set("Connection", "X-Private, close")
		h.Set("X-Private", "1")
		h.Set("Keep-Alive", "timeout=5")
		h.Set("Date", "Mon, 02 Jan 2006 15:04:05 GMT")
		h.Set("X-Kept", "1")
		h.Set(semelhttp.StatusHeader, "forged")
		h.Set(semelhttp.ReplayedHeader, "forged")
		fmt.Fprint(w, "ok")
	})
	first := ask(t, server, "k1", "x")
	if got := first.header.Values("Set-Cookie"); len(got) != 2 {
		t.Errorf("live: got the cookies %q, want both", got)
	}
	second := ask(t, server, "k1", "x")
	if second.word() != "replayed" || second.header.Get("X-Kept") != "1" {
		t.Errorf("got %v, want a replay with X-Kept", second.header)
	}
	for _, name := range []string{"Set-Cookie", "Authorization", "Www-Authenticate", "Connection", "X-Private", "Keep-Alive"} {
		if values, ok := second.header[name]; ok {
			t.Errorf("promise 5: %s was replayed: %q", name, values)
		}
	}
	if second.header.Get("Date") == first.header.Get("Date") {
		t.Error("the Date was replayed")
	}
}

// TestOuterHeaders: outer handlers keep their headers; what the handler changed
// or removed stays so in a replay.
func TestOuterHeaders(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	inner := d.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Changed", "inner")
		w.Header().Del("X-Removed")
		w.Header().Add("X-Added", "inner")
		fmt.Fprint(w, "ok")
	}))
	n := 0
	server := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		for _, name := range []string{"X-Request-Id", "X-Changed", "X-Removed", "X-Added"} {
			w.Header().Set(name, strconv.Itoa(n))
		}
		inner.ServeHTTP(w, r)
	}))
	ask(t, server, "k1", "x")
	second := ask(t, server, "k1", "x")
	for name, want := range map[string][]string{
		"X-Request-Id": {"2"}, "X-Changed": {"inner"}, "X-Removed": nil, "X-Added": {"1", "inner"},
	} {
		if diff := cmp.Diff(want, second.header.Values(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestHeaderFlood: headers that do not fit next to the body are like a body that
// does not.
func TestHeaderFlood(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{policy: semel.Policy{MaxOutcomeBytes: 10_000}})
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		invoices.ran.Add(1)
		for i := range 500 {
			w.Header().Set("X-"+strconv.Itoa(i), strings.Repeat("v", 100))
		}
		fmt.Fprint(w, "ok")
	})
	if first := ask(t, server, "k1", "x"); first.body != "ok" || len(first.header) < 500 {
		t.Errorf("got %d headers and %q", len(first.header), first.body)
	}
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "response-not-kept")
	invoices.wantRan(t, "promise 3", 1)
}
