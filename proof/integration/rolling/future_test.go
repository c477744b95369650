package rolling_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/proof/integration/rolling/fill"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

func newGuard(t *testing.T, store semel.Store, policy semel.Policy) *semel.Guard {
	t.Helper()
	g, err := semel.New(store, &semel.Options{Policy: policy, SweepEvery: -1, StoreTimeout: time.Second})
	must(t, err)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func nextFence(t *testing.T, store semel.Store) semel.Fence {
	t.Helper()
	g := newGuard(t, store, semel.Policy{})
	var fence semel.Fence
	_, err := semel.Do(t.Context(), g, semel.Key{Scope: "rolling", Name: "next"}, semel.Fingerprint{}, func(ctx context.Context) (int, error) {
		fence = semel.FenceFrom(ctx)
		return 0, nil
	})
	must(t, err)
	return fence
}

// refusesUnknownRecord: the record named unknown was put into a state that this
// version does not know. Even a policy that may run again does not.
func refusesUnknownRecord(t *testing.T, store semel.Store) {
	t.Helper()
	g := newGuard(t, store, semel.Policy{OnUnknown: semel.Rerun, Wait: semel.NoWait})
	key, asked := fill.Unknown()
	claim, rec, err := g.Begin(t.Context(), key, asked)
	if claim != nil || rec != nil || !errors.Is(err, semel.ErrNewerRecord) || !strings.Contains(err.Error(), "upgrade") {
		t.Errorf("a state of the future: got claim %v, record %v, error %v; want ErrNewerRecord, and what to do", claim, rec, err)
	}
	decision, w := ask(t, g, key, asked)
	if w.Code != http.StatusServiceUnavailable || decision.Executed {
		t.Errorf("a state of the future: got %d %s, want a problem", w.Code, w.Body)
	}
}

// ask sends a request through a door that fails open.
func ask(t *testing.T, g *semel.Guard, key semel.Key, asked semel.Fingerprint) (decision semelhttp.Decision, w *httptest.ResponseRecorder) {
	t.Helper()
	door, err := semelhttp.New(g, func(*http.Request) (string, error) { return key.Scope, nil }, &semelhttp.Options{
		Required: true, FailOpen: true, OnDecision: func(_ context.Context, d semelhttp.Decision) { decision = d },
		Fingerprint: semelhttp.FingerprintOptions{
			Func: func(*http.Request, *semelhttp.Body) (semel.Fingerprint, error) { return asked, nil },
		},
	})
	must(t, err)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	r.Header.Set("Idempotency-Key", key.Name)
	w = httptest.NewRecorder()
	door.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("IT WAS EXECUTED AGAIN") })).ServeHTTP(w, r)
	return decision, w
}

// TestEnvelopesOfTheFuture: an outcome in a form that this version does not
// know is neither executed again nor read by halves, and the message says what
// to do.
func TestEnvelopesOfTheFuture(t *testing.T) {
	t.Parallel()
	http1, err := (&semelhttp.Response{Status: 201, Body: []byte("half of it")}).MarshalBinary()
	must(t, err)
	changed := func(at int, to byte) []byte {
		e := append([]byte(nil), http1...)
		e[at] = to
		return e
	}
	for name, outcome := range map[string][]byte{
		"version 2":   changed(0, 2),
		"version 255": changed(0, 255),
		"a new flag":  changed(1, 2),
		"JSON":        []byte(`{"semel":2,"value":7}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, key := recorded(t, outcome)
			decision, w := ask(t, g, key, semel.Fingerprint{})
			if w.Code != http.StatusConflict || strings.Contains(w.Body.String(), "half of it") {
				t.Errorf("got %d %s, want a problem without any of the answer", w.Code, w.Body)
			}
			if decision.Err == nil || !strings.Contains(decision.Err.Error(), "upgrade") {
				t.Errorf("the log says %v, want what to do", decision.Err)
			}
		})
	}
}

// TestDoEnvelopeOfTheFuture: the same for Do.
func TestDoEnvelopeOfTheFuture(t *testing.T) {
	t.Parallel()
	g, key := recorded(t, []byte(`{"semel":2,"value":7}`))
	got, err := semel.Do(t.Context(), g, key, semel.Fingerprint{}, func(context.Context) (int, error) {
		return 0, errors.New("IT WAS EXECUTED AGAIN")
	})
	if got != 0 || err == nil || !strings.Contains(err.Error(), "version 2") || !strings.Contains(err.Error(), "upgrade") {
		t.Errorf("got %d, %v; want nothing, and what to do", got, err)
	}
}

// recorded is a guard with one completed intent.
func recorded(t *testing.T, outcome []byte) (*semel.Guard, semel.Key) {
	t.Helper()
	g := newGuard(t, memstore.New(nil), semel.Policy{OnUnknown: semel.Rerun})
	key := semel.Key{Scope: "rolling", Name: "k1"}
	claim, _, err := g.Begin(t.Context(), key, semel.Fingerprint{})
	must(t, err)
	must(t, claim.Complete(outcome, nil))
	return g, key
}
