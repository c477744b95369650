package semelhttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// txDoor is a door whose handlers work in transactions.
type txDoor struct {
	*door
	db *memdb.DB
}

func newTxDoor(tb testing.TB, faults *memdb.Options, o semelhttp.Options) *txDoor {
	tb.Helper()
	db := memdb.New(memstore.New(nil), faults)
	o.Transactor = db
	return &txDoor{door: newDoor(tb, doorOptions{store: db, Options: o}), db: db}
}

// wantRows fails unless so many rows of the body are committed, and no
// transaction is left open.
func (d *txDoor) wantRows(t *testing.T, row string, want int) {
	t.Helper()
	if got := d.db.Count(row); got != want {
		t.Errorf("promise 4: %d rows %q are committed, want %d", got, row, want)
	}
	if !d.db.Idle() {
		t.Error("promise 4: a transaction was left open")
	}
}

// insert makes a row of the body, and then answers as the function does.
func (d *txDoor) insert(t *testing.T, answer http.HandlerFunc) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if err := d.db.Insert(r.Context(), string(body)); err != nil {
			t.Error(err)
		}
		answer(w, r)
	}
}

func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Handler", "yes")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// redirects answers with a redirect.
func redirects(location string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Handler", "yes")
		http.Redirect(w, r, location, http.StatusFound)
	}
}

// TestTransaction: what an answer does to rows and record (promise 4), and
// whether a duplicate executes (promise 3).
func TestTransaction(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		answer  http.HandlerFunc
		options semelhttp.Options
		status  int
		word    string
		rows    int    // after one request
		again   string // the word, or the problem, of the duplicate
		rowsAt2 int
	}{
		{"created", answers(201, "made"), semelhttp.Options{}, 201, "executed", 1, "replayed", 1},
		{"refused by the application", answers(422, "no"), semelhttp.Options{}, 422, "executed", 1, "replayed", 1},
		{"status that releases", answers(429, "later"), semelhttp.Options{}, 429, "released", 0, "released", 0},
		{"redirect to a sign-in page", redirects("/login"), semelhttp.Options{}, 302, "released", 0, "released", 0},
		{"redirect to the result", redirects("/invoices/1"), semelhttp.Options{}, 302, "executed", 1, "replayed", 1},
		{"failure", answers(500, "oops"), semelhttp.Options{}, 500, "released", 0, "released", 0},
		{"a gateway's failure", answers(502, "?"), semelhttp.Options{}, 502, "released", 0, "released", 0},
		{"failure that is stored", answers(500, "oops"), semelhttp.Options{On5xx: semelhttp.StoreOn5xx}, 500, "executed", 0, "replayed", 0},
		{"failure that leaves it open", answers(502, "?"), semelhttp.Options{On5xx: semelhttp.UnknownOn5xx}, 502, "unknown", 0, "outcome-unknown", 0},
		{"disposed of", dispose(semel.StateReleased), semelhttp.Options{}, 201, "released", 0, "released", 0},
		{"disposed of as unknown", dispose(semel.StateUnknown), semelhttp.Options{}, 201, "unknown", 0, "outcome-unknown", 0},
		{"too long to keep", answers(201, strings.Repeat("x", 100)), semelhttp.Options{MaxResponseBytes: 50}, 201, "executed", 1, "response-not-kept", 1},
		{
			"too long to hold back", answers(201, strings.Repeat("x", 100)),
			semelhttp.Options{MaxResponseBytes: 50, MaxHeldBytes: 60},
			500, "response-too-large", 0, "response-too-large", 0,
		},
		{"changes the protocol", answers(101, ""), semelhttp.Options{}, 500, "response-too-large", 0, "response-too-large", 0},
		{"flushes", flush, semelhttp.Options{}, 200, "executed", 1, "replayed", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := newTxDoor(t, nil, tc.options)
			server := d.serve(t, d.insert(t, tc.answer))
			first := ask(t, server, "k1", "x")
			if got := wordOrProblem(first); first.status != tc.status || got != tc.word {
				t.Errorf("first: got %d %q, want %d %q", first.status, got, tc.status, tc.word)
			}
			if first.problem() != "" && first.header.Get("X-Handler") != "" {
				t.Error("the problem carries a header of the answer that was discarded")
			}
			d.wantRows(t, "x", tc.rows)
			second := ask(t, server, "k1", "x")
			if got := wordOrProblem(second); got != tc.again {
				t.Errorf("duplicate: got %d %q, want %q", second.status, got, tc.again)
			}
			d.wantRows(t, "x", tc.rowsAt2)
			if tc.again == "replayed" {
				wantReplay(t, first, second)
			}
		})
	}
}

func wordOrProblem(a *reply) string {
	if problem := a.problem(); problem != "" {
		return problem
	}
	return a.word()
}

func dispose(s semel.State) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		semelhttp.Dispose(r.Context(), s, "said so")
		w.WriteHeader(http.StatusCreated)
	}
}

func flush(w http.ResponseWriter, _ *http.Request) {
	controller := http.NewResponseController(w)
	for range 3 {
		_, _ = io.WriteString(w, "part ")
		_ = controller.Flush()
	}
	if _, _, err := controller.Hijack(); !errors.Is(err, http.ErrNotSupported) {
		_, _ = io.WriteString(w, "hijacked")
	}
}

// TestTransactionPanics: a panic rolls back, after WriteHeader too.
func TestTransactionPanics(t *testing.T) {
	t.Parallel()
	for name, on5xx := range map[string]semelhttp.On5xx{"released": semelhttp.ReleaseOn5xx, "stored": semelhttp.StoreOn5xx, "unknown": semelhttp.UnknownOn5xx} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTxDoor(t, nil, semelhttp.Options{On5xx: on5xx})
			server := d.serve(t, d.insert(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusCreated)
				panic(http.ErrAbortHandler)
			}))
			res, err := server.Client().Do(newAsk(t, server.URL+"/invoices", "x", "Idempotency-Key", "k1"))
			if err == nil {
				_ = res.Body.Close()
				t.Fatalf("a panicking handler was answered with %d", res.StatusCode)
			}
			d.wantRows(t, "x", 0)
		})
	}
}

// TestTransactionDisconnect: a client that goes away rolls back.
func TestTransactionDisconnect(t *testing.T) {
	t.Parallel()
	d := newTxDoor(t, nil, semelhttp.Options{})
	running, ended := make(chan struct{}), make(chan error, 1)
	server := d.serve(t, d.insert(t, func(w http.ResponseWriter, r *http.Request) {
		close(running)
		<-r.Context().Done()
		ended <- context.Cause(r.Context())
		w.WriteHeader(http.StatusCreated)
	}))
	ctx, leave := context.WithCancel(t.Context())
	r := newAsk(t, server.URL+"/invoices", "x", "Idempotency-Key", "k1").WithContext(ctx)
	go func() {
		<-running
		leave()
	}()
	if res, err := server.Client().Do(r); err == nil {
		_ = res.Body.Close()
		t.Fatal("a client that left was answered")
	}
	if err := <-ended; err == nil {
		t.Error("the handler's context did not end")
	}
	server.Close() // waits for the handler
	d.wantRows(t, "x", 0)
	wantOutcomes(t, d.door, outcomelog.RolledBack)
}

// TestTransactionRace: many who want one intent leave one row and get one answer.
func TestTransactionRace(t *testing.T) {
	t.Parallel()
	d := newTxDoor(t, nil, semelhttp.Options{})
	var ran atomic.Int64
	server := d.serve(t, d.insert(t, func(w http.ResponseWriter, _ *http.Request) {
		ran.Add(1)
		w.WriteHeader(http.StatusCreated)
	}))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if got := ask(t, server, "k1", "x"); got.status != http.StatusCreated {
				t.Errorf("got %d %s, want 201", got.status, got.body)
			}
		})
	}
	wg.Wait()
	if ran.Load() != 1 {
		t.Errorf("promise 1: the handler ran %d times, want once", ran.Load())
	}
	d.wantRows(t, "x", 1)
}

// TestCommitFails: the answer when the transaction does not
// commit (promise 7).
func TestCommitFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	for _, tc := range []struct {
		name    string
		fault   func(calls *atomic.Int64, p memdb.Point) error
		problem string
		rows    int
	}{
		{"the reply is lost, but it committed", func(_ *atomic.Int64, p memdb.Point) error {
			return errorAt(p, memdb.Committed, broken)
		}, "", 1},
		{"it did not commit", func(_ *atomic.Int64, p memdb.Point) error {
			return errorAt(p, memdb.Commit, broken)
		}, "rolled-back", 0},
		{"not known", func(calls *atomic.Int64, p memdb.Point) error {
			if p == memdb.Begin && calls.Add(1) > 1 {
				return broken
			}
			return errorAt(p, memdb.Committed, broken)
		}, "commit-unknown", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			d := newTxDoor(t, &memdb.Options{Fault: func(p memdb.Point) error { return tc.fault(&calls, p) }}, semelhttp.Options{})
			got := ask(t, d.serve(t, d.insert(t, answers(201, "made"))), "k1", "x")
			if tc.problem == "" && (got.status != http.StatusCreated || got.word() != "executed") {
				t.Errorf("got %d %q, want 201 executed", got.status, got.word())
			}
			if tc.problem != "" {
				wantProblem(t, got, http.StatusServiceUnavailable, tc.problem)
				if got.header.Get("Retry-After") == "" || !strings.Contains(got.body, `"retryable":true`) || got.header.Get("X-Handler") != "" {
					t.Errorf("got %v %s, want it retryable, without the discarded answer's headers", got.header, got.body)
				}
			}
			d.wantRows(t, "x", tc.rows)
		})
	}
}

func errorAt(p, at memdb.Point, err error) error {
	if p == at {
		return err
	}
	return nil
}

// TestTransactionTwice: a middleware that is mounted twice does not wait for
// itself.
func TestTransactionTwice(t *testing.T) {
	t.Parallel()
	d := newTxDoor(t, nil, semelhttp.Options{})
	server := newServer(t, d.Handler(d.Handler(d.insert(t, answers(201, "made")))))
	if got := ask(t, server, "k1", "x"); got.status != http.StatusCreated {
		t.Errorf("got %d %s, want 201", got.status, got.body)
	}
	d.wantRows(t, "x", 1)
}
