package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// run orders by one statement for each name; the result is the first order. during
// is called when the statements were made.
func (s *shop) run(ctx context.Context, g *semel.Guard, key string, during func(), names ...string) (order, error) {
	queries := make([]pgstore.Query, 0, len(names))
	for _, name := range names {
		queries = append(queries, pgstore.Query{SQL: s.insertSQL(), Args: []any{name}})
	}
	return pgstore.Run(ctx, g, orderKey(key), semel.Fingerprint{1}, queries, func(rows []pgx.Rows) (order, error) {
		if during != nil {
			during()
		}
		return firstOf(rows, names)
	})
}

// firstOf is the first order of those that were made.
func firstOf(rows []pgx.Rows, names []string) (first order, err error) {
	if len(rows) != len(names) {
		return first, fmt.Errorf("got the rows of %d statements, want %d", len(rows), len(names))
	}
	for i := range rows {
		o, err := pgx.CollectExactlyOneRow(rows[i], pgx.RowToStructByName[order])
		if err != nil || o.Name != names[i] {
			return first, fmt.Errorf("statement %d: got %v, want %q: %w", i, o, names[i], errors.Join(err, errWork))
		}
		if i == 0 {
			first = o
		}
	}
	return first, nil
}

// pair is a call of Run that makes two orders.
func (c *company) pair(g *semel.Guard, key string) func(context.Context) (order, error) {
	return func(ctx context.Context) (order, error) { return c.run(ctx, g, key, nil, key, key+"'") }
}

// pairs are n of them, and the names of their rows.
func (c *company) pairs(n int) (calls []func(context.Context) (order, error), names string) {
	for i := range n {
		name := fmt.Sprintf("o%02d", i)
		calls, names = append(calls, c.pair(c.guard, name)), names+" "+name+" "+name+"'"
	}
	return calls, names
}

// Promises 2 and 4: the statements and the record commit together, however they are sent.
func TestRun(t *testing.T) {
	t.Parallel()
	for _, mode := range modes() {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := openShopAt(t, testserver.Postgres(t)+"&default_query_exec_mode="+strings.ReplaceAll(mode, " ", "_"), nil)
			var ran atomic.Int64
			var first order
			for range 3 {
				o, err := s.run(t.Context(), s.guard, "k", func() { ran.Add(1) }, "a", "b", "c")
				if err != nil || o.Name != "a" || ran.Load() != 1 || first != (order{}) && o != first {
					t.Errorf("got %v, error %v after %d runs, first %v", o, err, ran.Load(), first)
				}
				first = o
			}
			s.wantNames(t, "a b c")
			s.wantState(t, "k", semel.StateCompleted)
			// A sequence shows statements that were executed and undone.
			if next, err := s.do(t.Context(), "d"); err != nil || next.ID != first.ID+3 {
				t.Errorf("got %v, error %v: the statements were executed for a duplicate", next, err)
			}
			s.idle(t)
		})
	}
}

// Within a transaction, Run is a part of it.
func TestRunInside(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	for _, end := range []error{errWork, nil} {
		_, err := s.work(t.Context(), func(ctx context.Context, _ pgx.Tx) error {
			_, err := s.run(ctx, s.guard, "inner", nil, "a", "b")
			return errors.Join(err, end)
		})
		if !errors.Is(err, end) {
			t.Fatal(err)
		}
	}
	s.wantNames(t, "a b")
	s.wantState(t, "inner", semel.StateCompleted)
	s.idle(t)
}

// Promise 8: a call has a bounded number of statements.
func TestRunBounds(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	for _, n := range []int{0, 17} {
		if _, err := s.run(t.Context(), s.guard, "k", nil, make([]string, n)...); err == nil {
			t.Errorf("%d statements: no error", n)
		}
	}
	s.wantState(t, "k", semel.StateAbsent)
}

// Promises 2 and 4: calls that come together share a transaction, and each gets
// the rows of its own, now and later.
func TestRunTogether(t *testing.T) {
	t.Parallel()
	c := openCompany(t)
	c.shared.Unhurried()
	calls, names := c.pairs(40)
	answers := c.at(t, calls...)
	c.wantRows(t, names)
	if n := c.transactions(t); n < 2 || n > 20 { // of 32 at most, and a lane may leave before all have come
		t.Errorf("40 calls took %d transactions", n)
	}
	for i, call := range calls {
		again, err := call(t.Context())
		if answers[i].err != nil || err != nil || again != answers[i].order || again.Name != fmt.Sprintf("o%02d", i) {
			t.Errorf("got %v, error %v, then %v, error %v", answers[i].order, answers[i].err, again, err)
		}
	}
	c.idle(t)
}

// Promise 1: twins that would share a transaction are executed once.
func TestRunTogetherTwins(t *testing.T) {
	t.Parallel()
	c := openCompany(t)
	execute(t, c.pool, "ALTER TABLE "+c.orders+" DROP CONSTRAINT once")
	calls, names := c.pairs(8)
	answers := c.at(t, append(calls, c.pair(c.guard, "twin"), c.pair(c.other, "twin"))...)
	c.wantRows(t, names+" twin twin'")
	for _, a := range answers {
		if a.err != nil {
			t.Error(a.err)
		}
	}
	if answers[8].order != answers[9].order {
		t.Errorf("twins got %v and %v", answers[8].order, answers[9].order)
	}
}

// Promises 4 and 5: what fails, in the database or in the process, harms no call
// that it would share a transaction with, and what would end their transaction or
// change its settings does not share it.
func TestRunTogetherRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sql   string
		fn    error
		code  string
		own   bool // it succeeds on its own
		alone bool // it does not join those that wait to share
	}{
		"division": {sql: "SELECT 1 / (SELECT count(*) FROM %s WHERE name = 'never')", code: "22012"},
		"unique":   {sql: "INSERT INTO %s (name) VALUES ('there')", code: "23505"},
		"syntax":   {sql: "INSERT INTU %s", code: "42601"},
		"work":     {sql: "SELECT count(*) FROM %s", fn: errWork},
		"commit":   {sql: "COMMIT", alone: true},
		"settings": {sql: "SELECT set_config('semel.test', 'theirs', true) FROM %s", own: true, alone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := openCompany(t)
			execute(t, c.pool, "INSERT INTO "+c.orders+" (name) VALUES ('there')")
			calls, names := c.pairs(4)
			bad := func(ctx context.Context) (order, error) {
				sql := strings.ReplaceAll(tt.sql, "%s", c.orders)
				return pgstore.Run(ctx, c.guard, orderKey("bad"), semel.Fingerprint{1}, []pgstore.Query{{SQL: sql}},
					func([]pgx.Rows) (order, error) { return order{}, tt.fn })
			}
			setting := "INSERT INTO " + c.orders + " (name) SELECT 'setting:' || coalesce(current_setting('semel.test', true), '') RETURNING id, name"
			look := func(ctx context.Context) (order, error) {
				return pgstore.Run(ctx, c.guard, orderKey("look"), semel.Fingerprint{1}, []pgstore.Query{{SQL: setting}},
					func(rows []pgx.Rows) (order, error) { return firstOf(rows, []string{"setting:"}) })
			}
			calls = append([]func(context.Context) (order, error){bad}, append(calls, look)...)
			waiting := len(calls)
			if tt.alone {
				waiting--
			}
			answers := c.when(t, waiting, calls...)
			pgErr, _ := errors.AsType[*pgconn.PgError](answers[0].err)
			if (answers[0].err == nil) != tt.own || tt.code != "" && (pgErr == nil || pgErr.Code != tt.code) || tt.fn != nil && !errors.Is(answers[0].err, tt.fn) {
				t.Errorf("got %v, want %s %v", answers[0].err, tt.code, tt.fn)
			}
			for _, a := range answers[1:] {
				if a.err != nil {
					t.Error(a.err)
				}
			}
			c.wantRows(t, names+" there setting:")
			c.idle(t)
		})
	}
}

// Promises 5 and 8: a call that waits for a row lock, or whose function does not
// return, holds up those that it shares a transaction with for a moment, and then goes on alone.
func TestRunTogetherHeldUp(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"locked", "slow"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := openCompany(t)
			execute(t, c.pool, "INSERT INTO "+c.orders+" (name) VALUES ('held')")
			holder, err := c.pool.Begin(t.Context())
			noError(t, err)
			if name == "locked" {
				_, err = holder.Exec(t.Context(), "SELECT FROM "+c.orders+" WHERE name = 'held' FOR UPDATE")
				noError(t, err)
			}
			calls, names := c.pairs(8)
			released := claimtest.AfterAll(t, calls, func() error { return holder.Commit(t.Context()) })
			held := func(ctx context.Context) (order, error) {
				q := pgstore.Query{SQL: "UPDATE " + c.orders + " SET name = name || $1 WHERE name = 'held' RETURNING id, name", Args: []any{"!"}}
				return pgstore.Run(ctx, c.guard, orderKey("held"), semel.Fingerprint{1}, []pgstore.Query{q}, func(rows []pgx.Rows) (order, error) {
					if name == "slow" {
						<-released
					}
					return firstOf(rows, []string{"held!"})
				})
			}
			for _, a := range c.at(t, append([]func(context.Context) (order, error){held}, calls...)...) {
				if a.err != nil {
					t.Error(a.err)
				}
			}
			<-released
			c.wantRows(t, "held! "+names)
			c.idle(t)
		})
	}
}

// An outcome that is encrypted passes through the process, and so can be shared.
func TestRunTogetherDedup(t *testing.T) {
	t.Parallel()
	c := openCompany(t)
	c.guard = newGuard(t, c.shared, &semel.Options{Policy: semel.Policy{Dedup: true}})
	calls, names := c.pairs(8)
	for _, a := range c.at(t, calls...) {
		if a.err != nil {
			t.Error(a.err)
		}
	}
	c.wantRows(t, names)
	if _, err := calls[0](t.Context()); err == nil {
		t.Error("a duplicate got no error")
	}
}
