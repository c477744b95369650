package pgstore_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// door is one way to order once.
type door func(ctx context.Context, s *shop, db *sql.DB, name string) (order, error)

func doors() map[string]door {
	return map[string]door{
		"do": func(ctx context.Context, s *shop, _ *sql.DB, name string) (order, error) { return s.do(ctx, name) },
		"dowith": func(ctx context.Context, s *shop, _ *sql.DB, name string) (order, error) {
			return s.doWith(ctx, s.guard, name, name, new(atomic.Int64))
		},
		"exec": func(ctx context.Context, s *shop, _ *sql.DB, name string) (order, error) {
			return s.exec(ctx, s.guard, name, name)
		},
		"dosql": func(ctx context.Context, s *shop, db *sql.DB, name string) (order, error) {
			o, _, err := s.doSQL(ctx, db, name, nil)
			return o, err
		},
		"serializable": func(ctx context.Context, s *shop, _ *sql.DB, name string) (order, error) {
			t := s.store.Transactor(&pgstore.TxOptions{Isolation: pgx.Serializable})
			return semel.DoTx(ctx, s.guard, t, orderKey(name), semel.Fingerprint{1}, func(ctx context.Context) (order, error) {
				return s.insert(ctx, pgstore.TxFrom(ctx), name)
			})
		},
	}
}

// childOrder orders through a door until it is killed, and prints what was
// answered. "names" begins the names of the orders; "%d" in it are the
// goroutine and the number.
func childOrder(dsn, schema, door, prefix string) int {
	ctx := context.Background()
	s, db, err := otherShop(ctx, dsn, schema)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var mu sync.Mutex // guards the lines
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("%s-%d-%d", prefix, g, i)
				o, err := doors()[door](ctx, s, db, name)
				if err != nil {
					fmt.Fprintln(os.Stderr, name, err)
					return
				}
				mu.Lock()
				fmt.Fprintln(os.Stdout, "answered", name, o.ID)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return 1
}

// otherShop is the shop as another process has it.
func otherShop(ctx context.Context, dsn, schema string) (*shop, *sql.DB, error) {
	p, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return nil, nil, err
	}
	s := &shop{pool: p, orders: quoted(schema) + ".orders"}
	if s.store, err = pgstore.New(ctx, p, &pgstore.Options{Schema: schema}); err != nil {
		return nil, nil, err
	}
	if s.guard, err = semel.New(s.store, &semel.Options{SweepEvery: -1, Policy: semel.Policy{Wait: time.Minute}}); err != nil {
		return nil, nil, err
	}
	return s, stdlib.OpenDBFromPool(p), nil
}

// kills counts the kills of each door.
const kills = 3

// Promise 4: a process that is killed at any instant leaves rows with their
// records, and no row or record alone.
func TestTxKilled(t *testing.T) {
	t.Parallel()
	for name := range doors() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, nil)
			execute(t, s.pool, "ALTER TABLE "+s.orders+" DROP CONSTRAINT once")
			answered := map[string]string{}
			for round := range kills {
				s.killOne(t, name, fmt.Sprint("round", round), answered)
				s.wantPairs(t, answered)
			}
			t.Logf("%d answers, %d orders", len(answered), len(strings.Fields(s.names(t))))
			if len(answered) == 0 {
				t.Error("nothing was answered: the test showed nothing")
			}
		})
	}
}

// killOne lets a process order until it is killed.
func (s *shop) killOne(t *testing.T, door, prefix string, answered map[string]string) {
	t.Helper()
	schema := s.store.SchemaName()
	who := fmt.Sprintf("%s %s", schema, prefix)
	cmd := childCommand(t, "order", testserver.Postgres(t)+"&pool_max_conns=3&application_name="+strings.ReplaceAll(who, " ", "%20"), schema, door, prefix)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if _, err := lines.Peek(1); err != nil { // it works
		t.Fatal(err)
	}
	killer := time.AfterFunc(time.Duration(20+rand.IntN(100))*time.Millisecond, func() { _ = cmd.Process.Kill() })
	defer killer.Stop()
	for scanner := bufio.NewScanner(lines); scanner.Scan(); {
		var name, id string
		if n, _ := fmt.Sscanf(scanner.Text(), "answered %s %s", &name, &id); n == 2 {
			answered[name] = id
		}
	}
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Fatalf("the child ended too early: %v", err)
	}
	eventually(t, "the server has ended the connections", func() bool {
		var n int
		err := s.pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", who).Scan(&n)
		return err == nil && n == 0
	})
}

// wantPairs fails unless every order has its record, every record its order,
// no order is there twice, and all that was answered is there.
func (s *shop) wantPairs(t *testing.T, answered map[string]string) {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), fmt.Sprintf(`SELECT coalesce(o.name, r.name), coalesce(o.orders, 0), coalesce(o.id, 0), r.state
FROM (SELECT name, count(*) AS orders, min(id) AS id FROM %s GROUP BY name) o FULL JOIN %s.record r ON r.name = o.name`,
		s.orders, quoted(s.store.SchemaName())))
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]string{}
	var name string
	var orders, id int
	var state *string
	if _, err := pgx.ForEachRow(rows, []any{&name, &orders, &id, &state}, func() error {
		there[name] = fmt.Sprint(id)
		if orders != 1 || state == nil || *state != "completed" {
			got := "none"
			if state != nil {
				got = *state
			}
			t.Errorf("%s: %d orders, record %s", name, orders, got)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for name, id := range answered {
		if there[name] != id {
			t.Errorf("%s: got order %q, want the answered one %s", name, there[name], id)
		}
	}
}

// Promises 2 and 4: while the server ends connections at random, every caller
// who asks until there is an answer gets the same one, and it is in the table
// once.
func TestTxTerminated(t *testing.T) {
	t.Parallel()
	for name, by := range doors() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const keys, callers = 24, 4
			server := openShop(t, nil)
			schema := server.store.SchemaName()
			execute(t, server.pool, "ALTER TABLE "+server.orders+" DROP CONSTRAINT once")
			dsn := testserver.Postgres(t) + "&pool_max_conns=4&application_name=" + schema
			var shops [2]*shop
			var dbs [2]*sql.DB
			for i := range shops {
				var err error
				if shops[i], dbs[i], err = otherShop(t.Context(), dsn, schema); err != nil {
					t.Fatal(err)
				}
			}
			var calls, ended atomic.Int64
			// A connection is ended during every third call.
			ask := func(who int, name string) (order, error) {
				var wg sync.WaitGroup
				defer wg.Wait()
				if calls.Add(1)%3 == 0 {
					wg.Go(func() {
						execute(t, server.pool, fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '%s' ORDER BY random() LIMIT 1", schema))
						ended.Add(1)
					})
				}
				return by(t.Context(), shops[who], dbs[who], name)
			}
			var wg sync.WaitGroup
			var answers [keys][callers]order
			for k := range keys {
				for c := range callers {
					wg.Go(func() {
						answers[k][c] = untilAnswered(t, func() (order, error) { return ask(c%2, fmt.Sprint("k", k)) })
					})
				}
			}
			wg.Wait()
			t.Logf("%d connections were ended during %d calls", ended.Load(), calls.Load())
			answered := map[string]string{}
			for k := range answers {
				answered[fmt.Sprint("k", k)] = fmt.Sprint(answers[k][0].ID)
				for _, o := range answers[k] {
					if o != answers[k][0] {
						t.Errorf("k%d: got %v and %v", k, answers[k][0], o)
					}
				}
			}
			server.wantPairs(t, answered)
			for i, s := range shops {
				if err := errors.Join(s.guard.Close(), dbs[i].Close(), s.store.Close()); err != nil {
					t.Error(err)
				}
				s.pool.Close()
			}
		})
	}
}

// untilAnswered asks again as long as the caller should.
func untilAnswered(t *testing.T, ask func() (order, error)) order {
	t.Helper()
	for range 1000 {
		o, err := ask()
		if err == nil {
			return o
		}
		// The work's own error as well: its connection was ended under it, and that
		// rolled back.
		if e, ok := errors.AsType[*semel.Error](err); ok && !e.Retryable() {
			t.Errorf("got %v, want an answer or a reason to ask again", err)
			break
		}
		if t.Context().Err() != nil {
			break
		}
	}
	t.Error("no answer came")
	return order{}
}
