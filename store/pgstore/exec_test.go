package pgstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/pgstore"
)

func (s *shop) insertSQL() string {
	return "INSERT INTO " + s.orders + " (name) VALUES ($1) RETURNING id, name"
}

func (s *shop) exec(ctx context.Context, g *semel.Guard, key, name string) (order, error) {
	return pgstore.Exec[order](ctx, g, orderKey(key), semel.Fingerprint{1}, s.insertSQL(), name)
}

// Promises 2 and 4: the row and its record are one statement, and a duplicate
// gets the row.
func TestExec(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	first, err := s.exec(t.Context(), s.guard, "k", "a")
	if err != nil || first.ID == 0 || first.Name != "a" {
		t.Fatalf("got %v, error %v", first, err)
	}
	again, err := s.exec(t.Context(), s.guard, "k", "a")
	if err != nil || again != first {
		t.Errorf("got %v, error %v, want %v", again, err, first)
	}
	// As a result of Do it is the same.
	replayed, err := s.do(t.Context(), "k")
	if err != nil || replayed != first {
		t.Errorf("got %v, error %v, want %v", replayed, err, first)
	}
	rec, err := s.guard.Lookup(t.Context(), orderKey("k"))
	if err != nil || rec.State != semel.StateCompleted || !rec.Kept || rec.Fence == 0 || rec.Attempt != 1 || rec.Name != "k" ||
		rec.ExpiresAt.Sub(rec.SettledAt) != semel.DefaultRetention || rec.SettledAt.Before(rec.ClaimedAt) {
		t.Errorf("got %+v, error %v", rec, err)
	}
	s.wantNames(t, "a")
	// A sequence shows statements that were executed and undone.
	if next, err := s.exec(t.Context(), s.guard, "other", "b"); err != nil || next.ID != first.ID+1 {
		t.Errorf("got %v, error %v: a duplicate of this process executed the statement", next, err)
	}
	s.idle(t)
}

// Promise 1: of many duplicates at once, in two processes, one is executed, and
// all get its row.
func TestExecDuplicates(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	execute(t, s.pool, "ALTER TABLE "+s.orders+" DROP CONSTRAINT once")
	others := pool(t, testserver.Postgres(t), 8)
	second := newStore(t, others, &pgstore.Options{Schema: s.store.SchemaName(), SkipMigrations: true})
	patient := &semel.Options{Policy: semel.Policy{Wait: time.Minute}}
	guards := []*semel.Guard{newGuard(t, s.store, patient), newGuard(t, second, patient)}
	for round := range 5 {
		key := fmt.Sprint("k", round)
		got := atOnce(t, 64, func(i int) (order, error) { return s.exec(t.Context(), guards[i%2], key, key) })
		if len(got) != 1 {
			t.Errorf("got %v, want one order", got)
		}
	}
	s.wantNames(t, "k0 k1 k2 k3 k4")
}

// atOnce makes n calls at once, and returns what they returned.
func atOnce(t *testing.T, n int, call func(i int) (order, error)) map[order]int {
	t.Helper()
	var mu sync.Mutex // guards got
	got := map[order]int{}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			o, err := call(i)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got[o]++
		})
	}
	wg.Wait()
	return got
}

// Whatever is stored under the key, the guard's policy decides.
func TestExecMeetsRecords(t *testing.T) {
	t.Parallel()
	fp := semel.Fingerprint{1}
	for name, tt := range map[string]struct {
		policy semel.Policy
		before func(t *testing.T, s *shop, p semel.ClaimParams)
		fp     semel.Fingerprint
		want   error
		names  string
	}{
		"mismatch": {fp: semel.Fingerprint{2}, want: semel.ErrMismatch, before: func(t *testing.T, s *shop, p semel.ClaimParams) {
			t.Helper()
			settles(t, s.store, wins(t, s.store, p), completed(`{"semel":1,"value":{"name":"secret"}}`))
		}},
		"running": {fp: fp, want: semel.ErrInFlight, policy: semel.Policy{Wait: semel.NoWait}, before: func(t *testing.T, s *shop, p semel.ClaimParams) {
			t.Helper()
			wins(t, s.store, p)
		}},
		"unknown": {fp: fp, want: semel.ErrUnknown, before: func(t *testing.T, s *shop, p semel.ClaimParams) {
			t.Helper()
			settles(t, s.store, wins(t, s.store, p), semel.Settlement{State: semel.StateUnknown, Retention: time.Hour})
		}},
		"unknown, rerun": {fp: fp, policy: semel.Policy{OnUnknown: semel.Rerun}, names: "k", before: func(t *testing.T, s *shop, p semel.ClaimParams) {
			t.Helper()
			settles(t, s.store, wins(t, s.store, p), semel.Settlement{State: semel.StateUnknown, Retention: time.Hour})
		}},
		"cancelled": {fp: fp, want: semel.ErrCancelled, before: func(t *testing.T, s *shop, _ semel.ClaimParams) {
			t.Helper()
			if _, err := must.Get(operator.New(s.guard, nil)).Cancel(t.Context(), operator.Identity{Name: "alice"}, orderKey("k"), 0, "a mistake"); err != nil {
				t.Error(err)
			}
		}},
		"released": {fp: fp, names: "k", before: func(t *testing.T, s *shop, p semel.ClaimParams) {
			t.Helper()
			settles(t, s.store, wins(t, s.store, p), semel.Settlement{State: semel.StateReleased})
		}},
		"expired": {fp: fp, names: "k", before: func(t *testing.T, s *shop, p semel.ClaimParams) {
			t.Helper()
			settles(t, s.store, wins(t, s.store, p), completed("forgotten"))
			execute(t, s.pool, "UPDATE "+quoted(s.store.SchemaName())+".record SET expires_ms = 1")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, &semel.Options{Policy: tt.policy})
			p := params("k")
			p.Digest, p.Fingerprint = s.guard.Digest(orderKey("k")), fp
			tt.before(t, s, p)
			o, err := pgstore.Exec[order](t.Context(), s.guard, orderKey("k"), tt.fp, s.insertSQL(), "k")
			if !errors.Is(err, tt.want) || tt.want != nil && o != (order{}) {
				t.Errorf("got %v, error %v, want %v", o, err, tt.want)
			}
			s.wantNames(t, tt.names)
			s.idle(t)
		})
	}
}

// A statement that returns no row, or two, or fails, leaves nothing (promise 4).
func TestExecRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sql  string // after the table's name is put in
		args []any
		want error
		code string
	}{
		"no row":       {sql: "UPDATE %s SET name = 'x' WHERE name = $1 RETURNING id", args: []any{"nobody"}, want: pgx.ErrNoRows},
		"two rows":     {sql: "INSERT INTO %s (name) VALUES ($1), ($2) RETURNING id", args: []any{"a", "b"}, want: pgx.ErrTooManyRows},
		"no RETURNING": {sql: "INSERT INTO %s (name) VALUES ($1)", args: []any{"a"}, code: "0A000"},
		"not null":     {sql: "INSERT INTO %s (name) VALUES ($1) RETURNING id", args: []any{nil}, code: "23502"},
		"deferred":     {sql: "INSERT INTO %s (name) VALUES ($1) RETURNING id", args: []any{"there"}, code: "23505"},
		"syntax":       {sql: "INSURT INTO %s ($1) RETURNING id", args: []any{"a"}, code: "42601"},
		"semicolon":    {sql: "INSERT INTO %s (name) VALUES ($1) RETURNING id;", args: []any{"a"}, code: "42601"},
		"arguments":    {sql: "INSERT INTO %s (name) VALUES ($1) RETURNING id", args: []any{"a", "b"}},
		"option":       {sql: "INSERT INTO %s (name) VALUES ($1) RETURNING id", args: []any{pgx.QueryExecModeExec, "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, nil)
			execute(t, s.pool, "INSERT INTO "+s.orders+" (name) VALUES ('there')")
			_, err := pgstore.Exec[order](t.Context(), s.guard, orderKey("k"), semel.Fingerprint{1}, fmt.Sprintf(tt.sql, s.orders), tt.args...)
			pgErr, _ := errors.AsType[*pgconn.PgError](err)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || tt.code != "" && (pgErr == nil || pgErr.Code != tt.code) {
				t.Errorf("got %v, want %v %s", err, tt.want, tt.code)
			}
			s.wantNames(t, "there")
			s.wantState(t, "k", semel.StateAbsent)
			s.idle(t)
		})
	}
}

// An outcome that is too large to keep, or not to be kept, still happens once
// (promise 3), and its first caller gets it.
func TestExecNotKept(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy semel.Policy
		want   error
	}{
		"too large": {semel.Policy{MaxOutcomeBytes: 20}, semel.ErrNotKept},
		"dedup":     {semel.Policy{Dedup: true}, semel.ErrDuplicate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, &semel.Options{Policy: tt.policy})
			o, err := s.exec(t.Context(), s.guard, "k", "a")
			if err != nil || o.Name != "a" {
				t.Errorf("got %v, error %v", o, err)
			}
			if _, err := s.exec(t.Context(), s.guard, "k", "a"); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if rec, err := s.guard.Lookup(t.Context(), orderKey("k")); err != nil || rec.Kept || len(rec.Outcome) > 0 {
				t.Errorf("got %+v, error %v, want nothing kept", rec, err)
			}
			s.wantNames(t, "a")
		})
	}
}

// Every kind of statement, and what its text contains.
func TestExecStatements(t *testing.T) {
	t.Parallel()
	s := openShop(t, &semel.Options{HideKeys: true})
	execute(t, s.pool, "INSERT INTO "+s.orders+" (name) VALUES ('a'), ('b')")
	for i, tt := range []struct {
		sql  string
		args []any
		want map[string]any
	}{
		{"UPDATE %s SET name = $1 WHERE name = $2 RETURNING name", []any{"c", "a"}, map[string]any{"name": "c"}},
		{"DELETE FROM %s WHERE name = $1 RETURNING name, NULL AS nothing", []any{"b"}, map[string]any{"name": "b", "nothing": nil}},
		{"INSERT INTO %s (name) SELECT 'd' RETURNING name -- with a comment", nil, map[string]any{"name": "d"}},
		{"WITH one AS (SELECT 'e' AS name) INSERT INTO %s (name) SELECT name FROM one RETURNING name", nil, map[string]any{"name": "e"}},
		{"INSERT INTO %s (name) VALUES (@name) RETURNING name || '\"<&>' AS name", []any{pgx.NamedArgs{"name": "f"}}, map[string]any{"name": `f"<&>`}},
		{"INSERT INTO %s (name) VALUES ('g') RETURNING name, 9007199254740993 AS id", nil, map[string]any{"name": "g", "id": json.Number("9007199254740993")}},
	} {
		for range 2 {
			got, err := pgstore.Exec[map[string]any](t.Context(), s.guard, orderKey(fmt.Sprint(i)), semel.Fingerprint{1}, fmt.Sprintf(tt.sql, s.orders), tt.args...)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%s: error %v, (-want +got):\n%s", tt.sql, err, diff)
			}
		}
	}
	s.wantNames(t, "c d e f g")
	rec, err := s.guard.Lookup(t.Context(), orderKey("0"))
	if err != nil || rec.Name != "" || rec.Scope != "" {
		t.Errorf("got %q %q, error %v, want hidden keys", rec.Scope, rec.Name, err)
	}
}

// Inside of a transaction the statement is a part of it.
func TestExecNested(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	for _, end := range []error{errWork, nil} {
		_, err := s.work(t.Context(), func(ctx context.Context, _ pgx.Tx) error {
			first, err := s.exec(ctx, s.guard, "inner", "a")
			if err != nil {
				return err
			}
			if again, err := s.exec(ctx, s.guard, "inner", "a"); err != nil || again != first {
				t.Errorf("got %v, error %v, want %v", again, err, first)
			}
			return end
		})
		if !errors.Is(err, end) {
			t.Fatal(err)
		}
	}
	s.wantNames(t, "a")
	s.wantState(t, "inner", semel.StateCompleted)
	s.idle(t)
}

// However the driver sends statements, and without a trip to save, the answer
// is the same.
func TestExecOtherwise(t *testing.T) {
	t.Parallel()
	for _, mode := range modes() {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := openShopAt(t, testserver.Postgres(t)+"&default_query_exec_mode="+strings.ReplaceAll(mode, " ", "_"), nil)
			first, err := s.exec(t.Context(), s.guard, "k", "a")
			noError(t, err)
			if again, err := s.exec(t.Context(), s.guard, "k", "a"); err != nil || again != first {
				t.Errorf("got %v, error %v, want %v", again, err, first)
			}
			s.wantNames(t, "a")
		})
	}
}

// Different statements without end are executed as well; a connection prepares a
// bounded number of them (promise 8).
func TestExecManyStatements(t *testing.T) {
	t.Parallel()
	s := openShopAt(t, testserver.Postgres(t)+"&pool_max_conns=1", nil)
	one := pool(t, testserver.Postgres(t), 1)
	g := newGuard(t, newStore(t, one, &pgstore.Options{Schema: s.store.SchemaName()}), nil)
	for i := range 150 {
		sql := fmt.Sprintf("INSERT INTO %s (name) VALUES ($1) RETURNING id, %d AS name", s.orders, i)
		got, err := pgstore.Exec[json.RawMessage](t.Context(), g, orderKey(fmt.Sprint(i)), semel.Fingerprint{1}, sql, fmt.Sprint(i))
		if err != nil || !strings.Contains(string(got), fmt.Sprintf(`"name":%d}`, i)) {
			t.Fatalf("statement %d: got %s, error %v", i, got, err)
		}
	}
	var n int
	if err := one.QueryRow(t.Context(), "SELECT count(*) FROM pg_prepared_statements").Scan(&n); err != nil || n > 700 {
		t.Errorf("%d prepared statements, error %v", n, err)
	}
}

// What the guard reports is reported of a statement as well.
func TestExecTrace(t *testing.T) {
	t.Parallel()
	var began, settled atomic.Int64
	var last semel.SettleInfo
	s := openShop(t, &semel.Options{Trace: &semel.Trace{
		Began: func(_ context.Context, i semel.BeginInfo) {
			if i.Err == nil {
				began.Add(1)
			}
		},
		Settled: func(_ context.Context, i semel.SettleInfo) { settled.Add(1); last = i },
	}})
	o, err := s.exec(t.Context(), s.guard, "k", "a")
	noError(t, err)
	rec, err := s.guard.Lookup(t.Context(), orderKey("k"))
	if err != nil || began.Load() != 1 || settled.Load() != 1 || last.Fence != rec.Fence || !last.Kept || last.Bytes != len(rec.Outcome) || last.Err != nil {
		t.Errorf("%v: began %d, settled %d: %+v, error %v, want %+v", o, began.Load(), settled.Load(), last, err, rec)
	}
	noError(t, s.guard.Close())
	if _, err := s.exec(t.Context(), s.guard, "other", "b"); !errors.Is(err, semel.ErrClosed) {
		t.Errorf("got %v, want %v", err, semel.ErrClosed)
	}
}
