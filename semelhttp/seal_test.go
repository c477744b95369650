package semelhttp_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// TestSealedAnswers: what is recorded is encrypted and replayed as it was; a
// door without the key says that it was done, and does not do it again.
func TestSealedAnswers(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	keys := []semel.OutcomeKey{{ID: "k1", Key: [32]byte{1}}}
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/invoices/17")
		w.WriteHeader(http.StatusCreated)
		if r.Header.Get("Stream") != "" {
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = w.Write([]byte("invoice of Ada"))
	}
	d := newDoor(t, doorOptions{store: store, keys: keys})
	current := d.Handler(http.HandlerFunc(handler))
	server := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { current.ServeHTTP(w, r) }))
	first, again := ask(t, server, "k1", "x"), ask(t, server, "k1", "x")
	if first.status != http.StatusCreated || again.body != first.body || again.word() != "replayed" || again.header.Get("Location") != "/invoices/17" {
		t.Errorf("got %+v and then %+v, want a replay", first, again)
	}
	rec, err := store.Lookup(t.Context(), d.decisions[0].Digest)
	if err != nil || bytes.Contains(rec.Outcome, []byte("Ada")) || bytes.Contains(rec.Outcome, []byte("/invoices")) {
		t.Errorf("the store keeps %q, %v; want it encrypted", rec.Outcome, err)
	}
	ask(t, server, "k2", "x", "Stream", "1")
	if got := ask(t, server, "k2", "x"); got.problem() != "response-not-kept" || !strings.Contains(got.body, `"location":"/invoices/17"`) {
		t.Errorf("got %s, want the summary of what was streamed", got.body)
	}

	bare := newDoor(t, doorOptions{store: store})
	current = bare.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("executed again") }))
	got := ask(t, server, "k1", "x")
	if got.status != http.StatusConflict || got.problem() != "response-unreadable" || !strings.Contains(got.body, `"retryable":false`) || got.header.Get("Retry-After") != "" {
		t.Errorf("got %d %s, want 409 response-unreadable", got.status, got.body)
	}
	if got := ask(t, server, "k2", "x"); got.problem() != "response-not-kept" || strings.Contains(got.body, "location") {
		t.Errorf("got %s, want response-not-kept without the summary", got.body)
	}
	for language, text := range map[string]string{"en": "be shown at the moment", "sv": "kan inte visas just nu", "hi": "अभी दिखाया नहीं जा सकता", "zh": "目前无法显示"} {
		if got := ask(t, server, "k1", "x", "Accept", "text/html", "Accept-Language", language); !strings.Contains(got.body, text) {
			t.Errorf("%s: got %s, want %q", language, got.body, text)
		}
	}
	if word := bare.outcomes()[0]; word != outcomelog.Unreadable {
		t.Errorf("decided %s, want unreadable", word)
	}
}

// TestBeforeReplayOfUnreadable: promise 5: a caller that lost the right does not learn
// either that it was done, where the answer cannot be decrypted.
func TestBeforeReplayOfUnreadable(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	var gate turnstile
	created := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	sealed := newDoor(t, doorOptions{store: store, keys: []semel.OutcomeKey{{ID: "k1", Key: [32]byte{1}}}})
	bare := newDoor(t, doorOptions{store: store, Options: semelhttp.Options{BeforeReplay: gate.ask}})
	current := sealed.Handler(created)
	server := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { current.ServeHTTP(w, r) }))
	ask(t, server, "k1", "x")
	current = bare.Handler(created)
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusConflict, "response-unreadable")
	gate.shut(&semelhttp.DeniedError{})
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusForbidden, "not-allowed")
}

// TestStatusOfUnreadable: a caller is not sent for an answer that it cannot get.
func TestStatusOfUnreadable(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	scope := func(*http.Request) (string, error) { return "s", nil } // whatever the port
	created := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }
	_, sealed := statusDoor(t, doorOptions{store: store, scope: scope, keys: []semel.OutcomeKey{{ID: "k1", Key: [32]byte{1}}}}, created)
	_, bare := statusDoor(t, doorOptions{store: store, scope: scope}, created)
	ask(t, sealed, "k1", "x")
	for server, kept := range map[*httptest.Server]bool{sealed: true, bare: false} {
		if s := stateOf(t, askStatus(t, server, "?path=/invoices", "Idempotency-Key", "k1")); s.State != "completed" || s.Kept != kept {
			t.Errorf("got %+v, want kept %v", s, kept)
		}
	}
}

// TestSecretsOverHTTP: two doors in neighbouring steps of a rotation answer as
// one, and name the record that they met.
func TestSecretsOverHTTP(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	secrets := [][]byte{[]byte("the old secret, of enough bytes"), []byte("the new secret, of enough bytes")}
	before := newDoor(t, doorOptions{store: store, secrets: secrets})
	slices.Reverse(secrets)
	after := newDoor(t, doorOptions{store: store, secrets: secrets})
	runs := 0
	handler := func(w http.ResponseWriter, r *http.Request) {
		runs++
		after.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })).ServeHTTP(w, r)
	}
	current := before
	server := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		current.Handler(http.HandlerFunc(handler)).ServeHTTP(w, r)
	}))
	first := ask(t, server, "k1", "x") // mounted twice: the inner one lets pass
	current = after
	again := ask(t, server, "k1", "x")
	if first.status != http.StatusCreated || again.status != http.StatusCreated || again.word() != "replayed" || runs != 1 {
		t.Errorf("got %d, then %d %s after %d runs; want a replay", first.status, again.status, again.word(), runs)
	}
	if diff := cmp.Diff(before.decisions[0].Digest, after.decisions[0].Digest); diff != "" {
		t.Errorf("the doors name two records (-before +after):\n%s", diff)
	}
	guard := must.Get(semel.New(store, &semel.Options{Secrets: secrets}))
	t.Cleanup(func() { _ = guard.Close() })
	db := memdb.New(memstore.New(nil), nil)
	if _, err := semelhttp.New(guard, semelhttp.ScopeBy(anonymous), &semelhttp.Options{Transactor: db}); err == nil || !strings.Contains(err.Error(), "one secret") {
		t.Errorf("got %v, want transactions refused with two secrets", err)
	}
}
