package dbguard_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/dbguard/pgxguard"
	"github.com/semel-dev/semel/internal/guardtest"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/pgstore"
)

// conflictOf makes a conflict with the rule on numbers.
func conflictOf(t *testing.T, show ...string) *dbguard.Conflict {
	t.Helper()
	list := invoiceRules()
	list[0].Show = show
	list[0].Messages = map[string]rules.Message{"en": {Text: "Invoice {number} is there."}, "sv": {Text: "Faktura {number} finns."}}
	err := dbguard.NewTranslator(list).Translate(pq("23505", "public", "invoices", "invoice_number"))
	c, ok := errors.AsType[*dbguard.Conflict](err)
	if !ok {
		t.Fatal(err)
	}
	return c
}

// answer returns the response of WriteConflict to a request with these headers.
func answer(t *testing.T, err error, opts *dbguard.ConflictOptions, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/invoices", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	if !dbguard.WriteConflict(w, r, err, opts) {
		t.Fatalf("%v was not answered", err)
	}
	return w
}

func TestWriteConflict(t *testing.T) {
	t.Parallel()
	c := conflictOf(t, "number")
	c.Existing = "/invoices/8e03978e"
	var told []outcomelog.Event
	opts := &dbguard.ConflictOptions{
		Sent: map[string]string{"number": "F-7", "tenant_id": "4711"},
		Log:  func(_ context.Context, e outcomelog.Event) { told = append(told, e) },
	}
	w := answer(t, c, opts, "Accept-Language", "sv-SE, en;q=0.5")
	var got map[string]any
	noError(t, json.Unmarshal(w.Body.Bytes(), &got))
	want := map[string]any{
		"type": "urn:semel:problem:already-exists", "title": "Det finns redan", "status": 409.0, "detail": "Faktura F-7 finns.", "retryable": false,
		"rule": "invoice_number", "fields": []any{"number"}, "existing": "/invoices/8e03978e", "location": "/invoices/8e03978e",
	}
	if diff := cmp.Diff(want, got); diff != "" || w.Code != http.StatusConflict || w.Header().Get("Content-Language") != "sv" {
		t.Errorf("%d, %v (-want +got):\n%s", w.Code, w.Header(), diff)
	}
	event := outcomelog.Event{Door: "dbguard", Outcome: "rejected", Rule: "invoice_number", Fields: []string{"number"}, Status: 409}
	if diff := cmp.Diff([]outcomelog.Event{event}, told); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}

	page := answer(t, c, opts, "Accept-Language", "sv", "Accept", "text/html").Body.String()
	for _, part := range []string{`lang="sv"`, "Faktura F-7 finns.", "Det finns redan", `href="/invoices/8e03978e"`} {
		if !strings.Contains(page, part) {
			t.Errorf("the page has no %s:\n%s", part, page)
		}
	}
	if body := answer(t, conflictOf(t), opts).Body.String(); strings.Contains(body, "F-7") || strings.Contains(body, "existing") {
		t.Errorf("a value is shown that the rule does not show: %s", body)
	}
	for lang, title := range map[string]string{"en": "This already exists", "sv": "Det finns redan", "hi": "यह पहले से मौजूद है", "zh": "该记录已存在", "fr": "This already exists"} {
		for _, err := range []error{&dbguard.Conflict{Index: "x"}, &dbguard.RefusedError{Table: "t", Fields: []string{"a"}}} {
			var p struct{ Title, Detail string }
			if err := json.Unmarshal(answer(t, err, nil, "Accept-Language", lang).Body.Bytes(), &p); err != nil || p.Title != title || p.Detail == "" {
				t.Errorf("%s: %+v, %v", lang, p, err)
			}
		}
	}
	w = httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	if dbguard.WriteConflict(w, r, errors.New("broken"), nil) || dbguard.WriteConflict(w, r, nil, nil) || w.Body.Len() != 0 {
		t.Error("something else than a conflict was answered")
	}
}

// A conflict is an answer of the application: it is recorded, and a retry under
// the same key gets it again, even after the conflicting row has gone.
func TestConflictIsReplayed(t *testing.T) {
	t.Parallel()
	db := guardtest.Open(t, dbguard.SQLite)
	invoices(t, db)
	store := memstore.New(nil)
	guard, err := semel.New(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guard.Close(); _ = store.Close() })
	conflictIsReplayed(t, db, guard, &semelhttp.Options{}, func(r *http.Request, statement string) error {
		_, err := db.Exec(r.Context(), statement)
		return err
	})
}

// In transaction mode the answer commits although a statement failed: the
// savepoint undoes that statement alone.
func TestConflictIsReplayedInTransaction(t *testing.T) {
	t.Parallel()
	db := guardtest.Pgx(t)
	invoices(t, db)
	store, err := pgstore.New(t.Context(), db.Pool, nil)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := semel.New(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guard.Close(); _ = store.Close() })
	conflictIsReplayed(t, db, guard, &semelhttp.Options{Transactor: store.Transactor(nil)}, func(r *http.Request, statement string) error {
		tx := pgxguard.Session(pgstore.TxFrom(r.Context()))
		if _, err := tx.Exec(r.Context(), "INSERT INTO parents (id) VALUES (1)"); err != nil {
			return err
		}
		return dbguard.Savepoint(r.Context(), tx, func(ctx context.Context, s dbguard.Session) error {
			_, err := s.Exec(ctx, statement)
			return err
		})
	})
	if n := db.Number(t, "SELECT count(*) FROM parents"); n != 1 {
		t.Errorf("%d of the other rows were written, want 1", n)
	}
}

func conflictIsReplayed(t *testing.T, db *guardtest.Database, guard *semel.Guard, opts *semelhttp.Options, insert func(*http.Request, string) error) {
	t.Helper()
	opts.Required = true
	var decisions []semelhttp.Decision
	opts.OnDecision = func(_ context.Context, d semelhttp.Decision) { decisions = append(decisions, d) }
	door, err := semelhttp.New(guard, semelhttp.ScopeBy(func(*http.Request) string { return "ann" }), opts)
	if err != nil {
		t.Fatal(err)
	}
	const statement = "INSERT INTO invoices (id, tenant_id, number) VALUES (%, 1, 'F-7')"
	db.Run(t, strings.ReplaceAll(statement, "%", "1"))
	translator := dbguard.NewTranslator(invoiceRules())
	runs := 0
	handler := door.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		runs++
		err := insert(r, strings.ReplaceAll(statement, "%", "2"))
		if !dbguard.WriteConflict(w, r, translator.Translate(err), nil) {
			t.Errorf("insert: %v", err)
		}
	}))
	key := rand.Text() // the store outlives this test
	send := func() *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/invoices", nil)
		r.Header.Set("Idempotency-Key", key)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	var bodies []string
	for range 2 {
		w := send()
		for tries := 0; w.Code == http.StatusServiceUnavailable && tries < 10; tries++ { // rolled back, on a machine with too much to do
			runs, decisions = 0, nil
			w = send()
		}
		bodies = append(bodies, w.Body.String())
		if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), `"rule":"invoice_number"`) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		db.Run(t, "DELETE FROM invoices WHERE id = 1")
	}
	if runs != 1 || bodies[0] != bodies[1] {
		t.Errorf("the handler ran %d times and answered %q", runs, bodies)
	}
	var events []outcomelog.Event
	for i := range decisions {
		e := decisions[i].Event()
		if len(e.Key) != 2*len(semel.Digest{}) {
			t.Errorf("key %q", e.Key)
		}
		e.Key = ""
		events = append(events, e)
	}
	want := []outcomelog.Event{
		{Door: "middleware", Outcome: "rejected", Rule: "invoice_number", Fields: []string{"number"}, Status: 409},
		{Door: "middleware", Outcome: "replayed", Status: 409},
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A savepoint undoes what failed and nothing else, even inside another one.
func TestSavepoint(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		db.Run(t, "CREATE TABLE things (a int PRIMARY KEY)")
		insert := func(n string) func(context.Context, dbguard.Session) error {
			return func(ctx context.Context, s dbguard.Session) error {
				_, err := s.Exec(ctx, "INSERT INTO things VALUES ("+n+")")
				return err
			}
		}
		err := db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
			err := dbguard.Savepoint(ctx, tx, func(ctx context.Context, s dbguard.Session) error {
				err := dbguard.Savepoint(ctx, s, insert("1"))
				failed := dbguard.Savepoint(ctx, s, insert("1"))
				if !is[*dbguard.Conflict](dbguard.NewTranslator(nil).Translate(failed)) {
					t.Errorf("the conflict in the savepoint: %v", failed)
				}
				return errors.Join(err, insert("2")(ctx, s))
			})
			if err != nil {
				return err
			}
			err = dbguard.Savepoint(ctx, tx, func(ctx context.Context, s dbguard.Session) error {
				return errors.Join(insert("3")(ctx, s), broken)
			})
			if !errors.Is(err, broken) {
				t.Errorf("the error of work became %v", err)
			}
			return insert("4")(ctx, tx)
		})
		if err != nil {
			t.Error(err)
		}
		if n := db.Number(t, "SELECT sum(a) FROM things"); n != 1+2+4 {
			t.Errorf("the sum is %d, want 7", n)
		}
	})
}
