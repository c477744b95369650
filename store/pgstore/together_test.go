package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// company is a shop whose statements share transactions.
type company struct {
	*shop

	few    *pgxpool.Pool // of two connections
	shared *pgstore.Store
	other  *semel.Guard // another one on shared
}

func openCompany(t *testing.T) *company {
	t.Helper()
	c := &company{shop: openShop(t, nil), few: pool(t, testserver.Postgres(t), 2)}
	c.shared = newStore(t, c.few, &pgstore.Options{Schema: c.store.SchemaName(), Together: true})
	patient := &semel.Options{StoreTimeout: 15 * time.Second}
	c.guard, c.other = newGuard(t, c.shared, patient), newGuard(t, c.shared, patient)
	closes(t, c.shared)
	return c
}

// answer holds the results of a call of Exec.
type answer struct {
	order order
	err   error
}

// at makes the calls wait for each other, so that they go in as few
// transactions as can be, and returns their answers.
func (c *company) at(t *testing.T, calls ...func(context.Context) (order, error)) []answer {
	t.Helper()
	return c.when(t, len(calls), calls...)
}

// when is at for calls of which so many wait to share a transaction.
func (c *company) when(t *testing.T, waiting int, calls ...func(context.Context) (order, error)) []answer {
	t.Helper()
	var held []*pgxpool.Conn
	for range 2 {
		conn, err := c.few.Acquire(t.Context())
		noError(t, err)
		defer conn.Release() // again, if the calls do not come to wait
		held = append(held, conn)
	}
	answers := make([]answer, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() { answers[i].order, answers[i].err = call(t.Context()) })
	}
	testserver.Eventually(t, "all wait", func() bool { return c.shared.Waiting() == waiting })
	for _, conn := range held {
		conn.Release()
	}
	wg.Wait()
	return answers
}

// by is a call of Exec under the guard.
func (c *company) by(g *semel.Guard, key, sql string, args ...any) func(context.Context) (order, error) {
	return func(ctx context.Context) (order, error) {
		return pgstore.Exec[order](ctx, g, orderKey(key), semel.Fingerprint{1}, sql, args...)
	}
}

// some are orders by n callers, and the names of their rows.
func (c *company) some(n int) (calls []func(context.Context) (order, error), names string) {
	for i := range n {
		name := fmt.Sprintf("o%02d", i)
		calls, names = append(calls, c.by(c.guard, name, c.insertSQL(), name)), names+" "+name
	}
	return calls, strings.TrimSpace(names)
}

// wantRows fails unless exactly these orders are there, in any order.
func (c *company) wantRows(t *testing.T, names string) {
	t.Helper()
	got, want := strings.Fields(c.names(t)), strings.Fields(names)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("orders: got %.200q, want %.200q", got, want)
	}
}

// transactions counts those that wrote the rows.
func (c *company) transactions(t *testing.T) (n int) {
	t.Helper()
	noError(t, c.pool.QueryRow(t.Context(), "SELECT count(DISTINCT xmin::text) FROM "+c.orders).Scan(&n))
	return n
}

// Promises 2 and 4: statements that come together are one transaction, and each
// caller gets the row of its own, now and later.
func TestTogether(t *testing.T) {
	t.Parallel()
	c := openCompany(t)
	calls, names := c.some(40)
	answers := c.at(t, calls...)
	c.wantRows(t, names)
	if n := c.transactions(t); n < 2 || n > 3 { // of 32 at most, and a lane may leave before all have come
		t.Errorf("40 statements took %d transactions", n)
	}
	for i, call := range calls {
		again, err := call(t.Context())
		if diff := cmp.Diff(answers[i].order, again); diff != "" || err != nil || answers[i].err != nil || again.Name != fmt.Sprintf("o%02d", i) {
			t.Errorf("errors %v, %v (-first +again):\n%s", answers[i].err, err, diff)
		}
	}
	if rec, err := c.guard.Lookup(t.Context(), orderKey("o00")); err != nil || rec.State != semel.StateCompleted || rec.Fence == 0 {
		t.Errorf("got %+v, error %v", rec, err)
	}
	c.idle(t)
}

// Promise 1: twins that would share a transaction are one order, and callers
// that shared a transaction with them are not harmed.
func TestTogetherTwins(t *testing.T) {
	t.Parallel()
	c := openCompany(t)
	execute(t, c.pool, "ALTER TABLE "+c.orders+" DROP CONSTRAINT once")
	calls, names := c.some(8)
	calls = append(calls, c.by(c.guard, "twin", c.insertSQL(), "twin"), c.by(c.other, "twin", c.insertSQL(), "twin"))
	answers := c.at(t, calls...)
	c.wantRows(t, names+" twin")
	for _, a := range answers {
		if a.err != nil {
			t.Error(a.err)
		}
	}
	if answers[8].order != answers[9].order {
		t.Errorf("twins got %v and %v", answers[8].order, answers[9].order)
	}
}

// Promise 5: what fails, now or at the commit, harms no statement that it
// shares a transaction with, and gets the error that it would have got alone.
func TestTogetherRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sql  string
		args []any
		code string
	}{
		"division": {sql: "INSERT INTO %s (name) SELECT (1 / $1::int)::text RETURNING id, name", args: []any{0}, code: "22012"},
		"not null": {sql: "INSERT INTO %s (name) VALUES ($1) RETURNING id", args: []any{nil}, code: "23502"},
		"deferred": {sql: "INSERT INTO %s (name) VALUES ($1) RETURNING id, name", args: []any{"there"}, code: "23505"},
		"no row":   {sql: "UPDATE %s SET name = 'x' WHERE name = $1 RETURNING id", args: []any{"nobody"}},
		"syntax":   {sql: "INSURT INTO %s ($1) RETURNING id", args: []any{"a"}, code: "42601"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := openCompany(t)
			execute(t, c.pool, "INSERT INTO "+c.orders+" (name) VALUES ('there')")
			calls, names := c.some(8)
			calls = append(calls[:4:4], append([]func(context.Context) (order, error){c.by(c.guard, "bad", fmt.Sprintf(tt.sql, c.orders), tt.args...)}, calls[4:]...)...)
			answers := c.at(t, calls...)
			bad := answers[4].err
			pgErr, _ := errors.AsType[*pgconn.PgError](bad)
			if bad == nil || tt.code != "" && (pgErr == nil || pgErr.Code != tt.code) {
				t.Errorf("got %v, want %s", bad, tt.code)
			}
			for i, a := range answers {
				if i != 4 && a.err != nil {
					t.Error(a.err)
				}
			}
			c.wantRows(t, names+" there")
			c.wantState(t, "bad", semel.StateAbsent)
			c.idle(t)
		})
	}
}

// Promises 5 and 8: a statement that waits for a lock, or runs for long, holds up
// those that it shares a transaction with for a moment, and then goes on alone.
func TestTogetherHeldUp(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"locked": "UPDATE %[1]s SET name = name || $1 WHERE name = 'held' RETURNING id, name",
		"slow":   "UPDATE %[1]s SET name = name || $1 WHERE name = 'held' AND %[1]s_wait() RETURNING id, name",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := openCompany(t)
			execute(t, c.pool, "INSERT INTO "+c.orders+" (name) VALUES ('held'); CREATE TABLE "+c.orders+"_go (ready int); "+
				"CREATE FUNCTION "+c.orders+"_wait() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN "+
				"WHILE NOT EXISTS (SELECT FROM "+c.orders+"_go) LOOP PERFORM pg_sleep(0.01); END LOOP; RETURN true; END $$")
			holder, err := c.pool.Begin(t.Context())
			noError(t, err)
			if name == "locked" {
				_, err = holder.Exec(t.Context(), "SELECT FROM "+c.orders+" WHERE name = 'held' FOR UPDATE")
				noError(t, err)
			}
			_, err = holder.Exec(t.Context(), "INSERT INTO "+c.orders+"_go VALUES (1)")
			noError(t, err)
			calls, names := c.some(8)
			ended := claimtest.AfterAll(t, calls, func() error { return holder.Commit(t.Context()) })
			held := c.by(c.guard, "held", fmt.Sprintf(statement, c.orders), "!")
			answers := c.at(t, append([]func(context.Context) (order, error){held}, calls...)...)
			<-ended
			for _, a := range answers {
				if a.err != nil {
					t.Error(a.err)
				}
			}
			if got := answers[0].order.Name; got != "held!" {
				t.Errorf("got %q", got)
			}
			c.wantRows(t, "held! "+names)
		})
	}
}

// Promise 8: arguments that would fill the buffers of a connection go in another
// transaction, or alone.
func TestTogetherLarge(t *testing.T) {
	t.Parallel()
	c := openCompany(t)
	var calls []func(context.Context) (order, error)
	var want []string
	for i, size := range []int{100, 9000, 9000, 9000, 9000, 40_000, 9000, 9000} {
		name := fmt.Sprint(i) + strings.Repeat("x", size)
		want = append(want, name)
		calls = append(calls, c.by(c.guard, fmt.Sprint(i), c.insertSQL(), name))
	}
	for i, a := range c.at(t, calls...) {
		if a.err != nil || a.order.Name != want[i] {
			t.Errorf("got %d bytes, error %v", len(a.order.Name), a.err)
		}
	}
	c.wantRows(t, strings.Join(want, " "))
}

// A caller that goes away while its statement waits in the queue takes it along;
// a store that is closed makes what waits, or refuses it, and loses nothing.
func TestTogetherLeft(t *testing.T) {
	t.Parallel()
	c := openCompany(t)
	held, err := c.few.Acquire(t.Context())
	noError(t, err)
	second, err := c.few.Acquire(t.Context())
	noError(t, err)
	g := newGuard(t, c.shared, &semel.Options{StoreTimeout: 100 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.exec(ctx, g, "k", "a"); !errors.Is(err, semel.ErrRolledBack) {
		t.Errorf("got %v, want %v", err, semel.ErrRolledBack)
	}
	if n := c.shared.Waiting(); n != 0 {
		t.Errorf("%d statements wait", n)
	}
	var wg sync.WaitGroup
	var made error
	wg.Go(func() { _, made = c.exec(t.Context(), c.guard, "closing", "b") })
	testserver.Eventually(t, "it waits", func() bool { return c.shared.Waiting() == 1 })
	wg.Go(func() { noError(t, c.shared.Close()) })
	held.Release()
	second.Release()
	wg.Wait()
	if errors.Is(made, semel.ErrClosed) { // the machine was too slow for a shared transaction, and alone it came too late
		c.wantRows(t, "")
		return
	}
	noError(t, made)
	c.wantRows(t, "b")
}
