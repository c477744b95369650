package semelhttp_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

// differ compares two answers but for the moment they were given in.
func differ(want, got *reply) string {
	a, b := *want, *got
	a.header, b.header = want.header.Clone(), got.header.Clone()
	a.header.Del("Date")
	b.header.Del("Date")
	return cmp.Diff(a, b, cmp.AllowUnexported(reply{}))
}

// TestProbing: promise 5: a stranger who knows or guesses a key learns nothing:
// whatever the key is to its owner, the answer and the verbs of the store are
// those of a fresh one.
func TestProbing(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards verbs
	var verbs []string
	spy := storetest.Break(memstore.New(nil), storetest.Faults{Before: func(c storetest.Call) error {
		mu.Lock()
		defer mu.Unlock()
		verbs = append(verbs, c.Verb)
		return nil
	}})
	taken := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(verbs)
	}
	running, finish := make(chan struct{}), make(chan struct{})
	asked := false
	d := newDoor(t, doorOptions{
		scope:  semelhttp.ScopeBy(func(r *http.Request) string { return r.Header.Get("X-User") }),
		policy: semel.Policy{Wait: semel.NoWait},
		Options: semelhttp.Options{
			On5xx: semelhttp.UnknownOn5xx, MaxResponseBytes: 100,
			BeforeReplay: func(*http.Request, *semel.Record) error { asked = true; return nil },
		},
		store: spy,
	})
	server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-User") == "owner" {
			switch r.Header.Get("Idempotency-Key") {
			case "unknown":
				w.WriteHeader(http.StatusBadGateway)
				return
			case "not-kept":
				_, _ = w.Write(make([]byte, 1000))
				return
			case "running":
				close(running)
				<-finish
			}
		}
		w.WriteHeader(http.StatusCreated)
	})
	owned := []string{"done", "unknown", "not-kept"}
	for _, key := range owned {
		ask(t, server, key, "x", "X-User", "owner")
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		ask(t, server, "running", "x", "X-User", "owner")
	}()
	<-running
	probe := func(key, body string) (*reply, []string) {
		before := len(taken())
		got := ask(t, server, key, body, "X-User", "stranger")
		return got, taken()[before:]
	}
	fresh, freshVerbs := probe("fresh", "x")
	if fresh.word() != "executed" || len(freshVerbs) == 0 {
		t.Fatalf("a fresh key: got %d %v after %q", fresh.status, fresh.header, freshVerbs)
	}
	for _, key := range append(owned, "running") {
		got, used := probe(key, "x")
		if diff := differ(fresh, got); diff != "" {
			t.Errorf("promise 5: %q of another scope differs from a fresh key (-fresh +got):\n%s", key, diff)
		}
		if diff := cmp.Diff(freshVerbs, used); diff != "" {
			t.Errorf("promise 5: %q of another scope takes another way (-fresh +got):\n%s", key, diff)
		}
	}
	if asked {
		t.Error("promise 5: a stranger's first attempt counted as a repetition")
	}
	close(finish)
	<-over
}
