package doors_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // opens SQLite

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

const (
	// waiting repetitions come while the first runs, later ones after it.
	waiting = 5
	later   = 3
	// secret is in the key, the query, a header, a cookie and the body.
	secret = "s3cr3t"
	// patience bounds what a test waits for before it calls it hung.
	patience = time.Minute
)

// lines is a log that is written and read at the same time.
type lines struct {
	mu   sync.Mutex // guards the field below
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// events reads the attribute "create" of every line that has one.
func (l *lines) events(t *testing.T) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.Contains(l.text.String(), secret) {
		t.Errorf("a secret was logged:\n%s", l.text.String())
	}
	var found []map[string]any
	for line := range strings.Lines(l.text.String()) {
		var entry struct {
			Create map[string]any `json:"create"`
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if entry.Create != nil {
			found = append(found, entry.Create)
		}
	}
	return found
}

// count counts outcomes.
func count(events []map[string]any) map[string]int {
	n := make(map[string]int)
	for _, e := range events {
		n[fmt.Sprint(e["outcome"])]++
	}
	return n
}

// eventually waits until something holds.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); {
		if time.Now().After(end) {
			t.Fatal("it did not come to that in time")
		}
		select {
		case <-t.Context().Done():
		case <-time.After(time.Millisecond):
		}
	}
}

// application creates a customer, through a guard in the database. It holds on
// while release is open.
type application struct {
	db      dbguard.Session
	log     outcomelog.Sink
	entered chan struct{}
	release chan struct{}
}

func newApplication(t *testing.T, log outcomelog.Sink) *application {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+t.TempDir()+"/app.db")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE customers (id integer PRIMARY KEY, email text UNIQUE)"); err != nil {
		t.Fatal(err)
	}
	return &application{db: dbguard.SQL(dbguard.SQLite, db), log: log, entered: make(chan struct{}), release: make(chan struct{})}
}

func (a *application) create(ctx context.Context) (created bool, err error) {
	email := rules.Term{Text: "email", Column: "email", Columns: []string{"email"}}
	_, created, err = dbguard.CreateOrReuse(ctx, a.db, &dbguard.Insert{
		Table: "customers", Columns: []string{"email"}, Values: []any{secret + "@example.test"}, Returning: []string{"id"}, Log: a.log,
		Unique: dbguard.Target{Rule: &rules.Unique{Name: "customer_email", Table: "customers", Fields: []rules.Term{email}}},
	}, func(rows dbguard.Rows) (id int64, err error) { return id, rows.Scan(&id) })
	return created, err
}

// ServeHTTP implements http.Handler.
func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case a.entered <- struct{}{}:
		<-a.release
	case <-a.release:
	}
	created, err := a.create(r.Context())
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case created:
		w.WriteHeader(http.StatusCreated)
	}
}

// post sends the request of one person, with a key.
func post(t *testing.T, handler http.Handler, key string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/customers?q="+secret, strings.NewReader(secret))
	r.Header.Set("Idempotency-Key", key)
	r.Header.Set("Authorization", "Bearer "+secret)
	r.AddCookie(&http.Cookie{Name: "sessionid", Value: secret, Secure: true, HttpOnly: true})
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code
}

// act sends one intent: first, then repetitions while it runs, then later ones.
func act(t *testing.T, a *application, handler http.Handler, waits func() int) {
	t.Helper()
	var group sync.WaitGroup
	send := func() {
		if status := post(t, handler, "key-"+secret); status != http.StatusCreated {
			t.Errorf("status %d", status)
		}
	}
	group.Go(send)
	<-a.entered
	for range waiting {
		group.Go(send)
	}
	eventually(t, func() bool { return waits() == waiting })
	close(a.release)
	group.Wait()
	for range later {
		send()
	}
}

// Every door distinguishes one action of a person from its repetitions, in the
// same shape.
func TestDoors(t *testing.T) {
	t.Parallel()
	shapes := make(map[string][]string)
	for door, run := range map[string]func(t *testing.T, log *lines){"middleware": throughMiddleware, "gateway": throughGateway, "dbguard": throughDatabase} {
		var log lines
		run(t, &log)
		events := log.events(t)
		want := map[string]int{"created": 1, "merged": waiting, "replayed": later}
		if door == "dbguard" {
			want = map[string]int{"created": 1, "returned-existing": waiting + later}
		}
		if diff := cmp.Diff(want, count(events)); diff != "" {
			t.Errorf("%s: outcomes (-want +got):\n%s", door, diff)
		}
		for _, e := range events {
			shapes[door] = slices.Sorted(maps.Keys(e))
			if e["door"] != door {
				t.Errorf("an event of %s is from %v", door, e["door"])
			}
			if _, ok := e["fields"].([]any); !ok {
				t.Errorf("%s: fields are %v", door, e["fields"])
			}
			if key := fmt.Sprint(e["key"]); door != "dbguard" && len(key) != outcomelog.KeyDigits {
				t.Errorf("%s: key %q", door, key)
			}
		}
		if diff := cmp.Diff([]string{"door", "fields", "key", "outcome", "route", "rule", "status"}, shapes[door]); diff != "" {
			t.Errorf("%s: shape (-want +got):\n%s", door, diff)
		}
	}
}

func newGuard(t *testing.T) *semel.Guard {
	t.Helper()
	store := memstore.New(nil)
	guard, err := semel.New(store, &semel.Options{SweepEvery: -1, Policy: semel.Policy{Wait: patience}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guard.Close(); _ = store.Close() })
	return guard
}

func newMiddleware(t *testing.T, guard *semel.Guard, log outcomelog.Sink, next http.Handler) http.Handler {
	t.Helper()
	m, err := semelhttp.New(guard, semelhttp.ScopeBy(func(r *http.Request) string { return r.Header.Get("Authorization") }), &semelhttp.Options{
		OnDecision: func(ctx context.Context, d semelhttp.Decision) { log(ctx, d.Event()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return m.Handler(next)
}

func throughMiddleware(t *testing.T, log *lines) {
	t.Helper()
	sink := outcomelog.To(slog.New(slog.NewJSONHandler(log, nil)))
	a, guard := newApplication(t, nil), newGuard(t)
	act(t, a, newMiddleware(t, guard, sink, a), guard.Waiting)
	for _, e := range log.events(t) {
		if e["outcome"] == "created" && (e["rule"] != "customer_email" || fmt.Sprint(e["fields"]) != "[email]") {
			t.Errorf("the middleware does not say which rule decided: %v", e)
		}
	}
}

func throughGateway(t *testing.T, log *lines) {
	t.Helper()
	a := newApplication(t, nil)
	upstream := httptest.NewServer(a)
	t.Cleanup(upstream.Close)
	store := memstore.New(nil)
	g, err := gateway.New(&gateway.Config{
		Upstream: upstream.URL, Store: store, Logger: slog.New(slog.NewJSONHandler(log, nil)),
		Guard: semel.Options{SweepEvery: -1, Policy: semel.Policy{Wait: patience}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(); _ = store.Close() })
	act(t, a, g.Handler(), func() int {
		w := httptest.NewRecorder()
		g.AdminHandler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		_, rest, _ := strings.Cut(w.Body.String(), "\nsemel_waiters ")
		n := 0
		_, _ = fmt.Sscan(rest, &n)
		return n
	})
}

func throughDatabase(t *testing.T, log *lines) {
	t.Helper()
	a := newApplication(t, outcomelog.To(slog.New(slog.NewJSONHandler(log, nil))))
	for range 1 + waiting + later {
		if _, err := a.create(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A guard's event under a claim carries the key of the middleware's, and
// reports a new key for an existing row as such there as well.
func TestDoorsAgree(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []outcomelog.Event
	sink := func(_ context.Context, e outcomelog.Event) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, e)
	}
	a := newApplication(t, sink)
	close(a.release)
	a.entered = nil // no test waits for it
	handler := newMiddleware(t, newGuard(t), sink, a)
	for _, key := range []string{"a", "b"} {
		post(t, handler, key)
	}
	for i, outcome := range []outcomelog.Outcome{"created", "returned-existing"} {
		inner, outer := told[2*i], told[2*i+1]
		if inner.Door != outcomelog.Database || outer.Door != outcomelog.Middleware || inner.Key == "" || inner.Key != outer.Key ||
			inner.Outcome != outcome || outer.Outcome != outcome || outer.Rule != "customer_email" {
			t.Errorf("%s:\n%+v\n%+v", outcome, inner, outer)
		}
	}
}
