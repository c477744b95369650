package pgstore_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// with orders by statements that its transactor takes along, one for each name. end is
// the end of the work, which has the rows.
func (s *shop) with(ctx context.Context, g *semel.Guard, key string, end func() error, names ...string) (order, error) {
	queries := make([]pgstore.Query, 0, len(names))
	for _, name := range names {
		queries = append(queries, pgstore.Query{SQL: s.insertSQL(), Args: []any{name}})
	}
	t := s.store.Transactor(&pgstore.TxOptions{Queries: queries})
	return semel.DoTx(ctx, g, t, orderKey(key), semel.Fingerprint{1}, func(ctx context.Context) (order, error) {
		rows, err := pgstore.RowsFrom(ctx)
		if err != nil {
			return order{}, err
		}
		first, err := firstOf(rows, names)
		if err == nil && end != nil {
			err = end()
		}
		return first, err
	})
}

// Promises 2 and 4: statements that a transactor takes along commit with the record, and
// the database sees none of a duplicate.
func TestQueries(t *testing.T) {
	t.Parallel()
	for _, mode := range modes() {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := openShopAt(t, testserver.Postgres(t)+"&default_query_exec_mode="+mode, nil)
			first, err := s.with(t.Context(), s.guard, "k", nil, "a", "b")
			noError(t, err)
			again, err := s.with(t.Context(), s.guard, "k", nil, "a", "b")
			if err != nil || again != first {
				t.Errorf("got %v, error %v, want %v", again, err, first)
			}
			s.wantNames(t, "a b")
			if next, err := s.do(t.Context(), "c"); err != nil || next.ID != first.ID+2 {
				t.Errorf("got %v, error %v: statements were executed for the duplicate", next, err)
			}
			s.idle(t)
		})
	}
}

// Promise 4: whatever the work says about them, statements of work that failed leave nothing,
// also where that is recorded, and run once more with the next attempt.
func TestQueriesOfFailedWork(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{false, true} {
		c := openCompany(t)
		if !together {
			c.guard = newGuard(t, c.store, nil)
		} else {
			c.store = c.shared
		}
		for name, end := range map[string]error{"plain": errWork, "final": semel.MarkFinal(errWork), "unknown": semel.MarkUnknown(errWork)} {
			_, err := c.with(t.Context(), c.guard, name, func() error { return end }, name)
			wantWords(t, err, errWork.Error())
		}
		c.wantNames(t, "")
		c.wantState(t, "plain", semel.StateAbsent)
		c.wantState(t, "final", semel.StateCompleted)
		c.wantState(t, "unknown", semel.StateUnknown)
		rerun := newGuard(t, c.store, &semel.Options{Policy: semel.Policy{OnUnknown: semel.Rerun}})
		for _, name := range []string{"plain", "unknown"} {
			_, err := c.with(t.Context(), rerun, name, nil, name)
			noError(t, err)
		}
		c.wantNames(t, "plain unknown")
		c.idle(t)
	}
}

// Promise 4: work that ignores its statements, or their failure, is rolled back, since they may not have run.
func TestQueriesIgnored(t *testing.T) {
	t.Parallel()
	c := openCompany(t)
	for _, store := range []*pgstore.Store{c.store, c.shared} {
		g := newGuard(t, store, nil)
		for sql, want := range map[string]string{
			c.insertSQL(): "pgstore.RowsFrom",
			"SELECT 1 / (SELECT count(*) FROM " + c.orders + " WHERE name = $1)": "aborts a transaction",
		} {
			o := &pgstore.TxOptions{Queries: []pgstore.Query{{SQL: sql, Args: []any{"a"}}}}
			_, err := semel.DoTx(t.Context(), g, store.Transactor(o), orderKey("k"), semel.Fingerprint{1}, func(ctx context.Context) (int, error) {
				if strings.Contains(want, "aborts") {
					_, _ = pgstore.RowsFrom(ctx)
				}
				return 0, nil
			})
			claimtest.WantErr(t, sql+": ", err, semel.ErrRolledBack)
			wantWords(t, err, want)
		}
	}
	c.wantNames(t, "")
	c.wantState(t, "k", semel.StateAbsent)
	c.idle(t)
}

// Work that the database undid because of another transaction runs again, with its statements.
func TestQueriesRunAgain(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	var runs atomic.Int64
	_, err := s.with(t.Context(), s.guard, "k", func() error {
		if runs.Add(1) == 1 {
			return conflictError{}
		}
		return nil
	}, "a")
	if err != nil || runs.Load() != 2 {
		t.Errorf("error %v after %d runs, want 2", err, runs.Load())
	}
	s.wantNames(t, "a")
}

// conflictError is a serialization failure.
type conflictError struct{}

func (conflictError) Error() string    { return "conflict" }
func (conflictError) SQLState() string { return "40001" }

// Promise 8: there is a bound, and rows of statements that were not named are an error.
func TestQueriesBounds(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	_, err := s.with(t.Context(), s.guard, "k", nil, make([]string, 17)...)
	wantWords(t, err, "want 1 to 16 statements")
	_, err = s.work(t.Context(), func(ctx context.Context, _ pgx.Tx) error {
		_, err := pgstore.RowsFrom(ctx)
		return err
	})
	wantWords(t, err, "TxOptions.Queries")
	s.wantNames(t, "")
}

// Promise 5: a transactor that is kept for a second intent does not give it the statements of the first.
func TestQueriesOfAnotherIntent(t *testing.T) {
	t.Parallel()
	c := openCompany(t)
	for _, store := range []*pgstore.Store{c.store, c.shared} {
		g := newGuard(t, store, nil)
		kept := store.Transactor(&pgstore.TxOptions{Queries: []pgstore.Query{{SQL: c.insertSQL(), Args: []any{"a"}}}})
		do := func(key string) error {
			_, err := semel.DoTx(t.Context(), g, kept, orderKey(key), semel.Fingerprint{1}, func(ctx context.Context) (int, error) {
				_, err := pgstore.RowsFrom(ctx)
				return 0, err
			})
			return err
		}
		first := fmt.Sprintf("%p", store)
		noError(t, do(first))
		noError(t, do(first))
		wantWords(t, do("another"), "belong to another intent")
		execute(t, c.pool, "UPDATE "+c.orders+" SET name = name || id")
	}
	c.wantState(t, "another", semel.StateAbsent)
	if got := len(strings.Fields(c.names(t))); got != 2 {
		t.Errorf("%d orders, want 2", got)
	}
}

// Promises 1 to 4: calls that come together share a commit, their statements' isolation included, and twins
// among them are executed once.
func TestQueriesTogether(t *testing.T) {
	t.Parallel()
	c := openCompany(t)
	c.shared.Unhurried()
	execute(t, c.pool, "ALTER TABLE "+c.orders+" DROP CONSTRAINT once")
	c.store = c.shared
	var calls []func(context.Context) (order, error)
	call := func(g *semel.Guard, name string) {
		calls = append(calls, func(ctx context.Context) (order, error) { return c.with(ctx, g, name, nil, name, name+"'") })
	}
	want := ""
	for name := range strings.FieldsSeq("a b c d e f g h i j k l") {
		call(c.guard, name)
		want += " " + name + " " + name + "'"
	}
	for _, a := range c.at(t, calls...) {
		noError(t, a.err)
	}
	if n := c.transactions(t); n > 6 {
		t.Errorf("12 calls took %d transactions", n)
	}
	calls = nil
	call(c.guard, "twin")
	call(c.other, "twin")
	answers := c.at(t, calls...)
	if answers[0] != answers[1] || answers[0].err != nil {
		t.Errorf("twins got %v", answers)
	}
	c.wantRows(t, want+" twin twin'")
	o := &pgstore.TxOptions{Isolation: pgx.Serializable, Queries: []pgstore.Query{{SQL: "SELECT current_setting('transaction_isolation')"}}}
	level, err := semel.DoTx(t.Context(), c.guard, c.shared.Transactor(o), orderKey("level"), semel.Fingerprint{1}, func(ctx context.Context) (string, error) {
		rows, err := pgstore.RowsFrom(ctx)
		if err != nil {
			return "", err
		}
		return pgx.CollectExactlyOneRow(rows[0], pgx.RowTo[string])
	})
	if err != nil || level != "serializable" {
		t.Errorf("got %q, error %v", level, err)
	}
	c.idle(t)
}
