package pgstore_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// unsure is a connection whose server commits, and answers once that it does not know.
type unsure struct {
	net.Conn

	state *atomic.Pointer[string]
}

func (c unsure) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	committed := []byte("C\x00\x00\x00\x0bCOMMIT\x00")
	if state := c.state.Load(); state != nil && bytes.Contains(p[:n], committed) {
		c.state.Store(nil)
		n = copy(p, bytes.Replace(p[:n], committed, []byte("E\x00\x00\x00\x13SERROR\x00C"+*state+"\x00\x00"), 1))
	}
	return n, err
}

// wrappedPool opens a pool whose connections are wrapped.
func wrappedPool(t *testing.T, dsn string, wrap func(net.Conn) net.Conn) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(dsn)
	noError(t, err)
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return wrap(conn), err
	}
	p, err := pgxpool.NewWithConfig(t.Context(), config)
	noError(t, err)
	t.Cleanup(p.Close)
	return p
}

// Promises 3 and 4: a server that answers COMMIT by "I do not know", as CockroachDB can, may have committed.
// The store asks, and the work does not run again.
func TestCommitAnsweredAsUnknown(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	var state atomic.Pointer[string]
	p := wrappedPool(t, testserver.Postgres(t), func(conn net.Conn) net.Conn { return unsure{conn, &state} })
	far := &shop{pool: p, orders: s.orders, store: newStore(t, p, &pgstore.Options{Schema: s.store.SchemaName()})}
	closes(t, far.store)
	far.guard = newGuard(t, far.store, nil)
	together := newStore(t, p, &pgstore.Options{Schema: s.store.SchemaName(), Together: true})
	closes(t, together)
	alike := newGuard(t, together, nil)
	db := stdlib.OpenDBFromPool(p)
	t.Cleanup(func() { noError(t, db.Close()) })

	ran, want := 0, ""
	for name, by := range map[string]func(key string) (order, error){
		"do": func(key string) (order, error) {
			return pgstore.Do(t.Context(), far.guard, orderKey(key), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (order, error) {
				ran++
				return far.insert(ctx, tx, key)
			})
		},
		"serializable": func(key string) (order, error) {
			transactor := far.store.Transactor(&pgstore.TxOptions{Isolation: pgx.Serializable})
			return semel.DoTx(t.Context(), far.guard, transactor, orderKey(key), semel.Fingerprint{1}, func(ctx context.Context) (order, error) {
				ran++
				return far.insert(ctx, pgstore.TxFrom(ctx), key)
			})
		},
		"run": func(key string) (order, error) {
			return far.run(t.Context(), far.guard, key, func() { ran++ }, key)
		},
		"run together": func(key string) (order, error) {
			return far.run(t.Context(), alike, key, func() { ran++ }, key)
		},
		"database/sql": func(key string) (order, error) {
			o, n, err := far.doSQL(t.Context(), db, key, nil)
			ran += n
			return o, err
		},
	} {
		for _, code := range []string{"40003", "08007", "58C01", "XXA00"} {
			key := name + " " + code
			state.Store(&code)
			ran = 0
			o, err := by(key)
			if err != nil || o.Name != key || ran != 1 {
				t.Errorf("%s: got %v, error %v after %d runs, want the answer after one", key, o, err, ran)
			}
			if state.Load() != nil {
				t.Errorf("%s: the server answered no commit", key)
			}
			want += fmt.Sprintf(" %s", key)
		}
	}
	s.wantNames(t, want[1:])
}
