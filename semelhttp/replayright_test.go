package semelhttp_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/semelhttp"
)

// turnstile is a BeforeReplay that a test opens and shuts.
type turnstile struct {
	answer atomic.Pointer[error]
	asked  atomic.Int64
	blind  atomic.Int64 // asked without a record
}

func (s *turnstile) shut(err error) { s.answer.Store(&err) }

func (s *turnstile) ask(_ *http.Request, rec *semel.Record) error {
	s.asked.Add(1)
	if rec == nil {
		s.blind.Add(1)
	}
	if err := s.answer.Load(); err != nil {
		return *err
	}
	return nil
}

// TestBeforeReplay: promise 5: a caller that lost the right learns nothing of an
// earlier attempt, however that ended, and nothing runs.
func TestBeforeReplay(t *testing.T) {
	t.Parallel()
	var gate turnstile
	var invoices counter
	running, finish := make(chan struct{}), make(chan struct{})
	scope := func(*http.Request) (string, error) { return "s", nil }
	d := newDoor(t, doorOptions{
		scope: scope, policy: semel.Policy{Wait: semel.NoWait},
		Options: semelhttp.Options{BeforeReplay: gate.ask, On5xx: semelhttp.UnknownOn5xx, MaxResponseBytes: 100},
	})
	server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
		invoices.ran.Add(1)
		w.Header().Set("Location", "/secret/7")
		switch r.Header.Get("Idempotency-Key") {
		case "broken":
			w.WriteHeader(http.StatusBadGateway)
		case "large":
			_, _ = w.Write([]byte(strings.Repeat("secret", 100)))
		case "running":
			close(running)
			<-finish
		default:
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte("secret"))
		}
	})
	for _, key := range []string{"done", "broken", "large"} {
		ask(t, server, key, "x")
	}
	if _, err := must.Get(operator.New(d.guard, nil)).Cancel(t.Context(), operator.Identity{Name: "alice"}, semel.Key{Scope: "s", Name: "cancelled"}, 0, "void"); err != nil {
		t.Fatal(err)
	}
	first := make(chan *reply, 1)
	go func() { first <- ask(t, server, "running", "x") }()
	<-running
	if gate.asked.Load() != 0 {
		t.Errorf("first attempts asked %d times", gate.asked.Load())
	}
	attempts := []struct {
		key, body string
		status    int
		problem   string
	}{
		{"done", "x", http.StatusCreated, ""},
		{"done", "other", http.StatusUnprocessableEntity, "key-reused"},
		{"broken", "x", http.StatusConflict, "outcome-unknown"},
		{"large", "x", http.StatusConflict, "response-not-kept"},
		{"running", "x", http.StatusConflict, "in-flight"},
		{"cancelled", "x", http.StatusConflict, "cancelled"},
	}
	all := func(check func(key string, got *reply, status int, problem string)) {
		for _, a := range attempts {
			check(a.key+" "+a.body, ask(t, server, a.key, a.body), a.status, a.problem)
		}
	}
	all(func(key string, got *reply, status int, problem string) {
		if got.status != status || got.problem() != problem {
			t.Errorf("allowed, %s: got %d %s", key, got.status, got.body)
		}
	})
	if asked, blind := gate.asked.Load(), gate.blind.Load(); asked != int64(len(attempts)) || blind != 1 {
		t.Errorf("asked %d times, %d without a record, want %d and once, about the other request", asked, blind, len(attempts))
	}
	gate.shut(&semelhttp.DeniedError{})
	denied := ask(t, server, "done", "x")
	wantProblem(t, denied, http.StatusForbidden, "not-allowed")
	all(func(key string, got *reply, _ int, _ string) { wantSame(t, key, denied, got) })
	gate.shut(&semelhttp.DeniedError{Err: errors.New("secret reason"), Answer: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte("who are you"))
	})})
	all(func(key string, got *reply, _ int, _ string) {
		if got.status != http.StatusUnauthorized || got.body != "who are you" || got.header.Get("Www-Authenticate") != "Bearer" || got.word() != "" {
			t.Errorf("an answer of one's own, %s: got %d %v %s", key, got.status, got.header, got.body)
		}
	})
	gate.shut(errors.New("secret: the directory is down"))
	unavailable := ask(t, server, "done", "x")
	wantProblem(t, unavailable, http.StatusServiceUnavailable, "authorisation-unavailable")
	if unavailable.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	all(func(key string, got *reply, _ int, _ string) { wantSame(t, key, unavailable, got) })
	gate.shut(semel.ErrInFlight) // an error of the core is not an answer of the core
	wantSame(t, "an error of the core", unavailable, ask(t, server, "done", "x"))
	close(finish)
	<-first
	invoices.wantRan(t, "promise 5", 4)
}

// wantSame checks that two answers tell the same, and nothing secret.
func wantSame(t *testing.T, what string, want, got *reply) {
	t.Helper()
	if diff := differ(want, got); diff != "" {
		t.Errorf("promise 5: %s can be distinguished (-want +got):\n%s", what, diff)
	}
	if strings.Contains(got.body, "secret") || got.header.Get("Location") != "" {
		t.Errorf("promise 5: %s tells %v %s", what, got.header, got.body)
	}
}
