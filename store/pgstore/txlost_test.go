package pgstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// proxied is a shop whose connections go through a proxy; besides it has a
// pool that does not.
type proxied struct {
	*shop

	proxy *testserver.Proxy
	far   *shop
	alike *semel.Guard // as that of far, for statements that share a transaction
	db    *sql.DB
	key   string // what TestTxLostReply orders
}

func openProxied(t *testing.T) *proxied {
	t.Helper()
	u, err := url.Parse(testserver.Postgres(t))
	noError(t, err)
	p := &proxied{shop: openShop(t, nil), proxy: testserver.NewProxy(t, u.Host)}
	execute(t, p.pool, "ALTER TABLE "+p.orders+" DROP CONSTRAINT once")
	dsn := with(t, testserver.Postgres(t), func(u *url.URL, _ url.Values) { u.Host = p.proxy.Addr() })
	p.far = &shop{pool: pool(t, dsn, 4), orders: p.orders}
	p.far.store = newStore(t, p.far.pool, &pgstore.Options{Schema: p.store.SchemaName()})
	p.far.guard = newGuard(t, p.far.store, nil)
	company := newStore(t, p.far.pool, &pgstore.Options{Schema: p.store.SchemaName(), Together: true})
	p.alike = newGuard(t, company, nil)
	closes(t, company)
	p.db = stdlib.OpenDBFromPool(p.far.pool)
	t.Cleanup(func() {
		if err := errors.Join(p.db.Close(), p.far.store.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Promise 7: when the reply of the commit is lost, the claim finds out that it
// took place, and the work does not run again.
func TestTxLostReply(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]func(ctx context.Context, p *proxied, last func(lose func())) (order, error){
		"do": func(ctx context.Context, p *proxied, last func(lose func())) (order, error) {
			return pgstore.Do(ctx, p.far.guard, orderKey(p.key), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (order, error) {
				o, err := p.insert(ctx, tx, p.key)
				last(p.proxy.LoseReplies)
				return o, err
			})
		},
		"serializable": func(ctx context.Context, p *proxied, last func(lose func())) (order, error) {
			transactor := p.far.store.Transactor(&pgstore.TxOptions{Isolation: pgx.Serializable})
			return semel.DoTx(ctx, p.far.guard, transactor, orderKey(p.key), semel.Fingerprint{1}, func(ctx context.Context) (order, error) {
				o, err := p.insert(ctx, pgstore.TxFrom(ctx), p.key)
				last(p.proxy.LoseReplies)
				return o, err
			})
		},
		"exec": func(ctx context.Context, p *proxied, last func(lose func())) (order, error) {
			last(p.proxy.LoseReplies)
			return p.far.exec(ctx, p.far.guard, p.key, p.key)
		},
		"together": func(ctx context.Context, p *proxied, last func(lose func())) (order, error) {
			last(p.proxy.LoseReplies)
			return p.far.exec(ctx, p.alike, p.key, p.key)
		},
		"run": func(ctx context.Context, p *proxied, last func(lose func())) (order, error) {
			return p.far.run(ctx, p.far.guard, p.key, func() { last(p.proxy.LoseReplies) }, p.key)
		},
		"run together": func(ctx context.Context, p *proxied, last func(lose func())) (order, error) {
			return p.far.run(ctx, p.alike, p.key, func() { last(p.proxy.LoseReplies) }, p.key)
		},
		"database/sql": func(ctx context.Context, p *proxied, last func(lose func())) (order, error) {
			o, _, err := p.far.doSQL(ctx, p.db, p.key, func(context.Context, *sql.Tx) error {
				last(func() { p.proxy.CutAfter(50) }) // the reply of the outcome, but not that of COMMIT
				return nil
			})
			return o, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openProxied(t)
			p.key = "before"
			if _, err := by(t.Context(), p, func(func()) {}); err != nil { // everything is prepared
				t.Fatal(err)
			}
			execute(t, p.pool, "DELETE FROM "+p.orders+"; DELETE FROM "+quoted(p.store.SchemaName())+".record")
			p.key = "k"
			last := 0
			var wg sync.WaitGroup
			o, err := by(t.Context(), p, func(lose func()) {
				if last++; last > 1 {
					return
				}
				lose()
				wg.Go(func() {
					testserver.Eventually(t, "the commit took place", func() bool {
						rec, err := p.guard.Lookup(t.Context(), orderKey("k"))
						return err == nil && rec.State == semel.StateCompleted
					})
					p.proxy.Clear()
				})
			})
			wg.Wait()
			if err != nil || o.Name != "k" || last != 1 {
				t.Errorf("got %v, error %v after %d runs, want the answer after one", o, err, last)
			}
			p.wantPairs(t, map[string]string{"k": fmt.Sprint(o.ID)})
		})
	}
}

// Promise 4: when the commit itself is lost, the claim finds out that it did
// not take place, and the work runs again.
func TestTxLostCommit(t *testing.T) {
	t.Parallel()
	p := openProxied(t)
	ran := 0
	o, err := pgstore.Do(t.Context(), p.far.guard, orderKey("k"), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (order, error) {
		o, err := p.insert(ctx, tx, "k")
		if ran++; ran == 1 {
			p.proxy.Cut()
		}
		return o, err
	})
	if err != nil || ran != 2 {
		t.Errorf("got %v, error %v after %d runs, want an answer after two", o, err, ran)
	}
	p.wantPairs(t, map[string]string{"k": fmt.Sprint(o.ID)})
}

// Promise 3: as long as it is unknown whether the commit took place, no caller
// does; the retry finds out.
func TestTxUndecided(t *testing.T) {
	t.Parallel()
	p := openProxied(t)
	g := newGuard(t, p.far.store, &semel.Options{StoreTimeout: 200 * time.Millisecond})
	ran := 0
	do := func() (order, error) {
		return pgstore.Do(t.Context(), g, orderKey("k"), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (order, error) {
			o, err := p.insert(ctx, tx, "k")
			if ran++; ran == 1 {
				p.proxy.LoseReplies()
			}
			return o, err
		})
	}
	_, err := do()
	e, ok := errors.AsType[*semel.Error](err)
	if !ok || !errors.Is(err, semel.ErrUnknown) || !e.Retryable() {
		t.Errorf("got %v, want %v, retryable", err, semel.ErrUnknown)
	}
	p.proxy.Clear()
	o, err := do()
	if err != nil || ran != 1 {
		t.Errorf("got %v, error %v after %d runs, want the first answer", o, err, ran)
	}
	p.wantPairs(t, map[string]string{"k": fmt.Sprint(o.ID)})
}

// Promise 10: without a server nothing runs; a connection that died while it
// was idle is replaced.
func TestTxBroken(t *testing.T) {
	t.Parallel()
	p := openProxied(t)
	if _, err := p.far.do(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	p.proxy.Cut()
	if _, err := p.far.do(t.Context(), "b"); err != nil {
		t.Errorf("after a cut: %v", err)
	}
	p.proxy.Down()
	for name, by := range doors() {
		_, err := by(t.Context(), p.far, p.db, "c")
		wantErr(t, name+": ", err, semel.ErrUnavailable)
	}
	p.proxy.Up()
	if _, err := p.far.do(t.Context(), "d"); err != nil {
		t.Errorf("after it came back: %v", err)
	}
	p.wantNames(t, "a b d")
}

// wantPairs fails unless every order has its record, every record its order,
// no order is there twice, and all that was answered is there.
func (s *shop) wantPairs(t *testing.T, answered map[string]string) {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), fmt.Sprintf(`SELECT coalesce(o.name, r.name), coalesce(o.orders, 0), coalesce(o.id, 0), r.state
FROM (SELECT name, count(*) AS orders, min(id) AS id FROM %s GROUP BY name) o FULL JOIN %s.record r ON r.name = o.name`,
		s.orders, quoted(s.store.SchemaName())))
	noError(t, err)
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
