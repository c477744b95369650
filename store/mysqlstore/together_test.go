package mysqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// company is a database in which calls share transactions.
type company struct {
	*txBundle

	other *semel.Guard // another one on the store
}

func setUpCompany(t *testing.T, d door) *company {
	t.Helper()
	d.together = true
	patient := &semel.Options{StoreTimeout: 15 * time.Second}
	c := &company{txBundle: setUpTx(t, d, patient)}
	c.other = claimtest.Guard(t, c.store, patient)
	execute(t, c.db, "CREATE TABLE orders (n INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(300) NOT NULL, conn BIGINT NOT NULL, UNIQUE KEY (name)) ENGINE = InnoDB")
	return c
}

// eachCompany runs a test over all connections that can be shared.
func eachCompany(t *testing.T, test func(t *testing.T, c *company)) {
	t.Helper()
	for name, d := range map[string]door{"open": {}, "connector": {pool: ourPool}, "as on MySQL": {with: mysqlstore.WithoutBounds, notHeldUp: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, setUpCompany(t, d))
		})
	}
}

type (
	call   = func(context.Context) (int64, error)
	answer struct {
		n   int64
		err error
	}
)

const orderSQL = "INSERT INTO orders (name, conn) VALUES (?, CONNECTION_ID()) -- a comment"

// by1 is a call of Exec under the guard.
func by1(g *semel.Guard, name, sql string, args ...any) call {
	return func(ctx context.Context) (int64, error) {
		made, err := mysqlstore.Exec(ctx, g, key(name), asked(), sql, args...)
		return made.LastInsertID, err
	}
}

// pair is a call of Run that makes two orders.
func pair(g *semel.Guard, name string) call {
	return func(ctx context.Context) (int64, error) {
		queries := []mysqlstore.Query{{SQL: orderSQL, Args: []any{name}}, {SQL: orderSQL, Args: []any{name + "'"}}}
		return mysqlstore.Run(ctx, g, key(name), asked(), queries, func(results []mysqlstore.Result) (int64, error) {
			if results[0].LastInsertID >= results[1].LastInsertID {
				return 0, fmt.Errorf("%w: %v", errBusiness, results)
			}
			return results[0].LastInsertID, nil
		})
	}
}

// some are n calls, by turns of Exec and of Run, and the names of their rows.
func (c *company) some(n int) (calls []call, names []string) {
	for i := range n {
		name := fmt.Sprintf("o%02d", i)
		if names = append(names, name); i%2 == 0 {
			calls = append(calls, by1(c.guard, name, orderSQL, name))
			continue
		}
		calls, names = append(calls, pair(c.guard, name)), append(names, name+"'")
	}
	return calls, names
}

// when makes the calls, of which so many wait to share a transaction, leave
// in as few transactions as can be.
func (c *company) when(t *testing.T, waiting int, calls ...call) []answer {
	t.Helper()
	release, err := c.store.HoldLanes(t.Context())
	noError(t, err)
	defer release()
	answers := make([]answer, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() { answers[i].n, answers[i].err = call(t.Context()) })
	}
	testserver.Eventually(t, "all wait", func() bool { return c.store.Waiting() == waiting })
	release()
	wg.Wait()
	return answers
}

func (c *company) wantOrders(t *testing.T, want ...string) {
	t.Helper()
	claimtest.WantRows(t, c.db, "SELECT name FROM orders", want...)
}

// wantDone fails where one of the calls got an error.
func wantDone(t *testing.T, answers ...answer) {
	t.Helper()
	for _, a := range answers {
		if a.err != nil {
			t.Error(a.err)
		}
	}
}

// Promises 2, 4 and 8: calls that come together share transactions, of a bounded number
// of them, and each caller gets the result of its own, now and later.
func TestTogether(t *testing.T) {
	t.Parallel()
	eachCompany(t, func(t *testing.T, c *company) {
		t.Helper()
		c.store.Unhurried()
		calls, names := c.some(40)
		answers := c.when(t, 40, calls...)
		wantDone(t, answers...)
		c.wantOrders(t, names...)
		if n := value(t, c.db, "SELECT COUNT(DISTINCT conn) FROM orders"); n > "2" {
			t.Errorf("they were made on %s connections", n)
		}
		for i, call := range calls {
			want := value(t, c.db, fmt.Sprintf("SELECT n FROM orders WHERE name = 'o%02d'", i))
			if again, err := call(t.Context()); err != nil || again != answers[i].n || fmt.Sprint(again) != want {
				t.Errorf("got %d, then %d, error %v, want %s", answers[i].n, again, err, want)
			}
		}
		rec, err := c.guard.Lookup(t.Context(), key("o00"))
		if err != nil || rec.State != semel.StateCompleted || rec.Fence == 0 || rec.Attempt != 1 || rec.Name != "o00" || !rec.Kept ||
			rec.ExpiresAt.Sub(rec.SettledAt) != semel.DefaultRetention || rec.ClaimedAt != rec.SettledAt {
			t.Errorf("got %+v, error %v", rec, err)
		}
		check(t, c.db, "semel_")
		c.goesOn(t)
	})
}

// Promise 1: twins that would share a transaction are executed once, and those that
// shared a transaction with them are not harmed.
func TestTogetherTwins(t *testing.T) {
	t.Parallel()
	eachCompany(t, func(t *testing.T, c *company) {
		t.Helper()
		execute(t, c.db, "ALTER TABLE orders DROP KEY name")
		calls, names := c.some(8)
		calls = append(calls, by1(c.guard, "twin", orderSQL, "twin"), by1(c.other, "twin", orderSQL, "twin"), pair(c.guard, "pair"), pair(c.other, "pair"))
		answers := c.when(t, len(calls), calls...)
		wantDone(t, answers...)
		c.wantOrders(t, append(names, "twin", "pair", "pair'")...)
		if answers[8].n != answers[9].n || answers[10].n != answers[11].n {
			t.Errorf("twins got %v", answers[8:])
		}
	})
}

// Promises 4 and 5: what fails, in the database or in the process, harms no call that
// it would share a transaction with, and gets the error that it would have got alone. What could end
// their transaction does not share it.
func TestTogetherRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sql   string
		args  []any
		fn    error
		code  uint16
		alone bool // it does not join those that wait
		own   bool // it succeeds on its own
	}{
		"unique":       {sql: "INSERT INTO orders (name, conn) VALUES ('there', 0)", code: 1062},
		"neighbour":    {sql: "INSERT INTO orders (name, conn) VALUES ('o00', 0)", code: 1062},
		"syntax":       {sql: "INSERT INTU orders", code: 1064},
		"two":          {sql: "DELETE FROM orders; DELETE FROM orders", code: 1064},
		"quote":        {sql: "DELETE FROM orders WHERE name = '", code: 1064},
		"comment":      {sql: "DELETE FROM orders WHERE FALSE /* ", code: 1064},
		"place":        {sql: "DELETE FROM orders WHERE name = '?'", args: []any{"' OR name <> '"}},
		"too few":      {sql: "DELETE FROM orders WHERE name = ?", alone: true},
		"rows":         {sql: "INSERT INTO orders (name, conn) VALUES ('r', 0) RETURNING n", own: true},
		"work":         {sql: "UPDATE orders SET conn = 0 WHERE name = 'there'", fn: errBusiness},
		"commit":       {sql: "COMMIT", alone: true},
		"set":          {sql: "SET autocommit = 1", alone: true},
		"no such type": {sql: "DELETE FROM orders WHERE name = ?", args: []any{struct{}{}}, alone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := setUpCompany(t, door{})
			execute(t, c.db, "INSERT INTO orders (name, conn) VALUES ('there', 0)")
			calls, names := c.some(8)
			bad := func(ctx context.Context) (int64, error) {
				return mysqlstore.Run(ctx, c.guard, key("bad"), asked(), []mysqlstore.Query{{SQL: tt.sql, Args: tt.args}},
					func([]mysqlstore.Result) (int64, error) { return 0, tt.fn })
			}
			calls = append(calls[:4:4], append([]call{bad}, calls[4:]...)...)
			waiting := len(calls)
			if tt.alone {
				waiting--
			}
			answers := c.when(t, waiting, calls...)
			if name == "neighbour" && answers[0].err != nil { // one of them is first
				answers[0], answers[4] = answers[4], answers[0]
				names = names[1:]
				names = append(names, "o00")
			}
			if err := answers[4].err; (err == nil) != tt.own || tt.code != 0 && numberOf(err) != tt.code || tt.fn != nil && err != tt.fn { //nolint:errorlint // it is as it was returned.
				t.Errorf("got %v, want %d %v", err, tt.code, tt.fn)
			}
			wantDone(t, append(answers[:4:4], answers[5:]...)...)
			if want := append(names, "there"); name == "rows" {
				c.wantOrders(t, append(want, "r")...)
			} else {
				c.wantOrders(t, want...)
			}
			c.goesOn(t)
		})
	}
}

func numberOf(err error) uint16 {
	serverErr, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return 0
	}
	return serverErr.Number
}

// Promises 5 and 8: a call that waits for a row lock, or whose function does not return, holds
// up those that it shares a transaction with for a moment, and then goes on alone.
func TestTogetherHeldUp(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]door{"locked": {}, "function": {}, "locked, as on MySQL": {with: mysqlstore.WithoutBounds, notHeldUp: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := setUpCompany(t, d)
			execute(t, c.db, "INSERT INTO orders (name, conn) VALUES ('held', 0)")
			holder, err := c.db.BeginTx(t.Context(), nil)
			noError(t, err)
			if name != "function" {
				_, err = holder.ExecContext(t.Context(), "UPDATE orders SET conn = 1 WHERE name = 'held'")
				noError(t, err)
			}
			before, err := c.store.Lanes(t.Context())
			noError(t, err)
			calls, names := c.some(8)
			released := claimtest.AfterAll(t, calls, holder.Commit)
			held := func(ctx context.Context) (int64, error) {
				q := mysqlstore.Query{SQL: "UPDATE orders SET name = CONCAT(name, ?) WHERE name = 'held'", Args: []any{"!"}}
				return mysqlstore.Run(ctx, c.guard, key("held"), asked(), []mysqlstore.Query{q}, func(results []mysqlstore.Result) (int64, error) {
					if name == "function" {
						<-released
					}
					return results[0].RowsAffected, nil
				})
			}
			wantDone(t, c.when(t, len(calls)+1, append([]call{held}, calls...)...)...)
			<-released
			c.wantOrders(t, append(names, "held!")...)
			if after, err := c.store.Lanes(t.Context()); err != nil || !slices.Equal(before, after) {
				t.Errorf("a connection had to be cut: there were %v, and are %v, error %v", before, after, err)
			}
			c.goesOn(t)
		})
	}
}

// Promise 8: statements that would make too long a text, and too large outcomes, go in another transaction, or alone.
func TestTogetherLarge(t *testing.T) {
	t.Parallel()
	c := setUpCompany(t, door{})
	execute(t, c.db, "ALTER TABLE orders DROP KEY name, MODIFY name MEDIUMTEXT NOT NULL")
	var calls []call
	sizes := []int{100, 20_000, 20_000, 20_000, 20_000, 100_000, 20_000}
	for i, size := range sizes {
		calls = append(calls, by1(c.guard, fmt.Sprint(i), orderSQL, strings.Repeat("x", size)))
	}
	large := strings.Repeat("y", 100_000)
	calls = append(calls, func(ctx context.Context) (int64, error) {
		got, err := mysqlstore.Run(ctx, c.guard, key("outcome"), asked(), []mysqlstore.Query{{SQL: orderSQL, Args: []any{"outcome"}}},
			func([]mysqlstore.Result) (string, error) { return large, nil })
		if err == nil && got != large {
			err = errBusiness
		}
		return 0, err
	})
	wantDone(t, c.when(t, len(calls), calls...)...)
	if got := value(t, c.db, "SELECT CONCAT(COUNT(*), ' ', SUM(LENGTH(name))) FROM orders"); got != "8 200107" {
		t.Errorf("got rows and bytes %s", got)
	}
}

// A caller that goes away while it waits takes its call along; a store that is closed makes a call that waits, or refuses it.
func TestTogetherLeft(t *testing.T) {
	t.Parallel()
	c := setUpCompany(t, door{})
	release, err := c.store.HoldLanes(t.Context())
	noError(t, err)
	g := claimtest.Guard(t, c.store, &semel.Options{StoreTimeout: 100 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := by1(g, "k", orderSQL, "k")(ctx); err == nil {
		t.Error("got no error")
	}
	if n := c.store.Waiting(); n != 0 {
		t.Errorf("%d calls wait", n)
	}
	var wg sync.WaitGroup
	var made error
	wg.Go(func() { _, made = pair(c.guard, "closing")(t.Context()) })
	testserver.Eventually(t, "it waits", func() bool { return c.store.Waiting() == 1 })
	wg.Go(func() { noError(t, c.store.Close()) })
	release()
	wg.Wait()
	if errors.Is(made, semel.ErrClosed) { // the machine was too slow for a shared transaction, and alone it came too late
		c.wantOrders(t)
		return
	}
	noError(t, made)
	c.wantOrders(t, "closing", "closing'")
}

// An outcome that is encrypted passes through the process, and so it can be shared, and one that
// is not kept is not.
func TestTogetherSealed(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*semel.Options{
		"sealed": {OutcomeKeys: []semel.OutcomeKey{{ID: "k1", Key: [32]byte{1}}}},
		"dedup":  {Policy: semel.Policy{Dedup: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := setUpCompany(t, door{})
			var settled atomic.Int64
			o.Trace = &semel.Trace{Settled: func(_ context.Context, i semel.SettleInfo) {
				if i.Err == nil && i.Fence > 0 {
					settled.Add(1)
				}
			}}
			c.guard = claimtest.Guard(t, c.store, o)
			calls, names := c.some(8)
			answers := c.when(t, len(calls), calls...)
			wantDone(t, answers...)
			c.wantOrders(t, names...)
			if settled.Load() < 8 {
				t.Errorf("%d settlements with a fence", settled.Load())
			}
			again, err := calls[1](t.Context())
			if (err == nil) != (name == "sealed") || err == nil && again != answers[1].n {
				t.Errorf("again: got %d, error %v, want %d", again, err, answers[1].n)
			}
			if plain := value(t, c.db, `SELECT COUNT(*) FROM semel_record WHERE outcome LIKE '%"semel"%'`); plain != "0" {
				t.Errorf("%s outcomes are not encrypted", plain)
			}
		})
	}
}
