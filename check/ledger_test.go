package check_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/internal/check/wire"
	"github.com/semel-dev/semel/semelhttp"
)

// ledger is an application that records the n of each request.
type ledger struct {
	takes   time.Duration // after the entry
	empties bool          // takes requests without a body
	most    int64         // bytes of a body; zero for all
	// insert makes the entry; nil for the map below.
	insert func(ctx context.Context, n string) error
	count  func(n string) int

	mu      sync.Mutex // guards the fields below
	entries map[string]int
	total   int
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, status := l.read(r)
	if status != 0 {
		http.Error(w, "the entry cannot be read", status)
		return
	}
	if l.insert != nil {
		if err := l.insert(r.Context(), n); err != nil {
			http.Error(w, "no entry was made", http.StatusInternalServerError)
			return
		}
	}
	l.mu.Lock()
	if l.entries == nil {
		l.entries = map[string]int{}
	}
	l.entries[n]++
	l.total++
	id := l.total
	l.mu.Unlock()
	select {
	case <-time.After(l.takes):
	case <-r.Context().Done():
	}
	w.Header().Set("Location", fmt.Sprintf("/entries/%d", id))
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"id":%d,"n":%q}`, id, n)
}

// read returns the n of an entry, or the status of a refusal.
func (l *ledger) read(r *http.Request) (n string, status int) {
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return "", http.StatusBadRequest
	case l.most > 0 && int64(len(body)) > l.most:
		return "", http.StatusRequestEntityTooLarge
	case len(body) == 0 && l.empties:
		return "", 0
	}
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return "", http.StatusBadRequest
		}
		if body, err = io.ReadAll(unpacked); err != nil {
			return "", http.StatusBadRequest
		}
	}
	var entry struct{ N json.Number }
	if json.Unmarshal(body, &entry) != nil {
		return "", http.StatusBadRequest
	}
	return entry.N.String(), 0
}

// byN and inAll count the entries, per intent and in total.
type (
	byN   struct{ *ledger }
	inAll struct{ *ledger }
)

func (byN) Name() string    { return "entries of the n" }
func (byN) PerIntent() bool { return true }
func (o byN) Count(_ context.Context, fill func(string) string) (int64, error) {
	n := fill("{{n}}")
	if o.count != nil {
		return int64(o.count(n)), nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return int64(o.entries[n]), nil
}

func (inAll) Name() string    { return "all entries" }
func (inAll) PerIntent() bool { return false }
func (o inAll) Count(context.Context, func(string) string) (int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return int64(o.total), nil
}

// memo protects an application by remembering answers, with the given faults.
type memo struct {
	app http.Handler
	// bypass selects the requests whose key is ignored.
	bypass func(r *http.Request, body []byte, took time.Duration) bool
	// fingerprint distinguishes requests. Default: the body.
	fingerprint func(r *http.Request, body []byte) string
	looksEarly  bool // looks the answer up before the body is there, and not again
	unclaimed   bool // does not take the key while it executes
	already     bool // answers a repetition in words of its own

	mu    sync.Mutex // guards the fields below
	known map[string]*remembered
}

// remembered is the state of a key in a memo; the answer is nil while it executes.
type remembered struct {
	fingerprint string
	answer      *httptest.ResponseRecorder
}

// take returns the state of a key; nil if it is new and now taken.
func (m *memo) take(key string, unless bool) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[string]*remembered{}
	}
	had, ok := m.known[key]
	if ok && (had.answer != nil || !m.unclaimed) {
		copied := *had
		return &copied
	}
	if !unless {
		m.known[key] = &remembered{}
	}
	return nil
}

func (m *memo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	var had *remembered
	if m.looksEarly {
		had = m.take(key, true)
	}
	began := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "half a body", http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if m.bypass != nil && m.bypass(r, body, time.Since(began)) {
		m.app.ServeHTTP(w, r)
		return
	}
	fingerprint := string(body)
	if m.fingerprint != nil {
		fingerprint = m.fingerprint(r, body)
	}
	if !m.looksEarly {
		had = m.take(key, false)
	}
	if had != nil {
		m.repeat(w, had, fingerprint)
		return
	}
	m.execute(w, r, key, fingerprint)
}

func (m *memo) repeat(w http.ResponseWriter, had *remembered, fingerprint string) {
	switch {
	case had.answer == nil:
		http.Error(w, "it is running", http.StatusConflict)
	case had.fingerprint != fingerprint:
		http.Error(w, "the key is another request's", http.StatusUnprocessableEntity)
	case m.already:
		_, _ = io.WriteString(w, `"it was made already"`)
	default:
		w.Header().Set("Location", had.answer.Header().Get("Location"))
		w.WriteHeader(had.answer.Code)
		_, _ = w.Write(had.answer.Body.Bytes())
	}
}

func (m *memo) execute(w http.ResponseWriter, r *http.Request, key, fingerprint string) {
	answer := httptest.NewRecorder()
	m.app.ServeHTTP(answer, r.WithContext(context.WithoutCancel(r.Context())))
	m.mu.Lock()
	if answer.Code >= 300 {
		delete(m.known, key)
	} else {
		if m.known == nil {
			m.known = map[string]*remembered{}
		}
		m.known[key] = &remembered{fingerprint, answer}
	}
	m.mu.Unlock()
	(&memo{}).repeat(w, &remembered{fingerprint, answer}, fingerprint)
}

// semelOver protects the application by Semel's middleware.
func semelOver(t *testing.T, app http.Handler, store semel.Store, policy semel.Policy, o *semelhttp.Options) http.Handler {
	t.Helper()
	return middleware(t, store, policy, oneScope, o).Handler(app)
}

// correct lists ways to protect a ledger, and the profiles that they keep.
func correct() map[string]func(*testing.T) (*ledger, http.Handler, string) {
	const work = 40 * time.Millisecond
	over := func(profile string, policy semel.Policy, o *semelhttp.Options) func(*testing.T) (*ledger, http.Handler, string) {
		return func(t *testing.T) (*ledger, http.Handler, string) {
			t.Helper()
			app := &ledger{takes: work}
			return app, semelOver(t, app, nil, policy, o), profile
		}
	}
	return map[string]func(*testing.T) (*ledger, http.Handler, string){
		"semel, small bodies":         over("ietf", semel.Policy{}, &semelhttp.Options{MaxBodyBytes: 1000}),
		"semel, duplicates stopped 2": over("dedup", semel.Policy{Dedup: true, Wait: semel.NoWait}, nil),
		"a memo": func(*testing.T) (*ledger, http.Handler, string) {
			app := &ledger{takes: work, empties: true}
			return app, &memo{app: app}, "ietf"
		},
		"a memo that takes no large bodies": func(*testing.T) (*ledger, http.Handler, string) {
			app := &ledger{takes: work, most: 100 << 10}
			return app, &memo{app: app}, "ietf"
		},
	}
}

// examine runs the checks of a group, or single ones, and returns the results.
func examine(t *testing.T, handler http.Handler, profile string, counters []check.Counter, only ...string) *check.Report {
	t.Helper()
	return examineAt(t, serve(t, handler), profile, counters, nil, only...)
}

func examineAt(t *testing.T, url, profile string, counters []check.Counter, change func(*check.Config), only ...string) *check.Report {
	t.Helper()
	known, ok := check.ProfileNamed(profile)
	if !ok {
		t.Fatalf("unknown profile %s", profile)
	}
	config := check.Config{
		Template: check.Template{
			Method: "POST", URL: url + "/entries", Body: []byte(`{"what":"an entry","n":{{n}}}`),
			Header: []wire.Field{{Name: "Content-Type", Value: "application/json"}},
		},
		Profile: known, Counters: counters, Only: only, Timeout: 2 * time.Second, Settle: 300 * time.Millisecond,
	}
	if change != nil {
		change(&config)
	}
	return run(t.Context(), t, config)
}
