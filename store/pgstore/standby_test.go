package pgstore_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// alone is a shop on a server whose synchronous standby is away; near is the same shop for
// connections that do not wait for that.
type alone struct {
	*testing.T
	*shop

	near  *shop
	alike *semel.Guard // as that of shop, for statements that share a transaction
	db    *sql.DB

	cancelled chan struct{} // gets a value when the driver has sent a request to cancel
}

// canceller is a connection that tells when a request to cancel has been handed over.
type canceller struct {
	net.Conn

	asks bool
	done chan<- struct{}
}

func (c *canceller) Write(p []byte) (int, error) {
	const request = 80877102 // CancelRequest of the protocol
	c.asks = c.asks || len(p) > 8 && binary.BigEndian.Uint32(p[4:]) == request
	return c.Conn.Write(p)
}

func (c *canceller) Close() error {
	if c.asks {
		select {
		case c.done <- struct{}{}:
		default:
		}
	}
	return c.Conn.Close()
}

func openAlone(t *testing.T, server, name string) *alone {
	t.Helper()
	as := func(commit string) string {
		return with(t, server, func(_ *url.URL, q url.Values) {
			q.Set("application_name", name)
			q.Set("synchronous_commit", commit)
		})
	}
	a := &alone{T: t, near: openShopAt(t, as("local"), nil), cancelled: make(chan struct{}, 1)}
	p := wrappedPool(t, as("on"), func(conn net.Conn) net.Conn { return &canceller{Conn: conn, done: a.cancelled} })
	a.shop = &shop{pool: p, orders: a.near.orders}
	open := func(together bool) (*pgstore.Store, *semel.Guard) {
		s := newStore(t, a.pool, &pgstore.Options{Schema: a.near.store.SchemaName(), Together: together})
		closes(t, s)
		return s, newGuard(t, s, &semel.Options{StoreTimeout: 300 * time.Millisecond})
	}
	a.store, a.guard = open(false)
	_, a.alike = open(true)
	a.db = stdlib.OpenDBFromPool(a.pool)
	return a
}

// waits reports whether a commit waits for the standby.
func (a *alone) waits() bool {
	a.Helper()
	var n int
	err := a.near.pool.QueryRow(context.WithoutCancel(a.Context()), "SELECT count(*) FROM pg_stat_activity "+
		"WHERE wait_event = 'SyncRep' AND application_name = current_setting('application_name')").Scan(&n)
	noError(a.T, err)
	return n > 0
}

// verb calls a verb of the store, and gives it up while its commit waits.
func (a *alone) verb(call func(ctx context.Context) error) error {
	a.Helper()
	ctx, cancel := context.WithCancel(a.Context())
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	testserver.Eventually(a.T, "the commit waits", a.waits)
	cancel()
	err := <-done
	<-a.cancelled // the driver tries, in vain
	return err
}

// claimed claims k where no commit waits.
func (a *alone) claimed() semel.SettleParams {
	a.Helper()
	p := claimOf("k")
	rec, won, err := a.near.store.Claim(a.Context(), p)
	if err != nil || !won {
		a.Fatalf("won %v, error %v", won, err)
	}
	return semel.SettleParams{Digest: p.Digest, Fence: rec.Fence, Settlement: semel.Settlement{
		State: semel.StateCompleted, Kept: true, Retention: time.Hour, Outcome: []byte(`{"id":0,"name":"k"}`),
	}}
}

func claimOf(name string) semel.ClaimParams {
	k := orderKey(name)
	return semel.ClaimParams{
		Digest: k.Digest(), Scope: k.Scope, Name: k.Name, Owner: semel.Owner{1}, Fingerprint: semel.Fingerprint{1},
		Lease: time.Hour, Retention: time.Hour,
	}
}

// Promises 2 and 7: a commit that waits for its synchronous standby is not cancelled, because then the
// server would show rows that a failover loses. What it does is unknown meanwhile, and happens once
// the standby is back.
func TestCommitThatWaitsForItsStandby(t *testing.T) {
	t.Parallel()
	server := testserver.StartPostgres(t, &testserver.PostgresOptions{Conf: map[string]string{"synchronous_standby_names": "'away'"}})
	admin := pool(t, with(t, server.DSN(), func(_ *url.URL, q url.Values) { q.Set("synchronous_commit", "local") }), 2)
	type check func(t *testing.T)
	afterwards := map[string]check{}
	shown := func(a *alone, want semel.State) check {
		return func(t *testing.T) {
			t.Helper()
			rec, err := a.near.guard.Lookup(t.Context(), orderKey("k"))
			if err != nil && !errors.Is(err, semel.ErrNotFound) || rec.State != want {
				t.Errorf("the server shows %v, error %v, want %v", rec.State, err, want)
			}
		}
	}
	for name, test := range map[string]struct {
		before, after semel.State
		call          func(a *alone) error
	}{
		"claim": {semel.StateAbsent, semel.StateClaimed, func(a *alone) error {
			return a.verb(func(ctx context.Context) error {
				_, _, err := a.store.Claim(ctx, claimOf("k"))
				return err
			})
		}},
		"settle": {semel.StateClaimed, semel.StateCompleted, func(a *alone) error {
			p := a.claimed()
			return a.verb(func(ctx context.Context) error { return a.store.Settle(ctx, p.Digest, p.Fence, p.Settlement) })
		}},
		"batch": {semel.StateClaimed, semel.StateCompleted, func(a *alone) error {
			p := a.claimed()
			return a.verb(func(ctx context.Context) error {
				_, _, err := a.store.Batch(ctx, []semel.ClaimParams{claimOf("other")}, []semel.SettleParams{p})
				return err
			})
		}},
		"do": {semel.StateAbsent, semel.StateCompleted, func(a *alone) error {
			_, err := a.do(t.Context(), "k")
			return err
		}},
		"serializable": {semel.StateAbsent, semel.StateCompleted, func(a *alone) error {
			transactor := a.store.Transactor(&pgstore.TxOptions{Isolation: pgx.Serializable})
			_, err := semel.DoTx(t.Context(), a.guard, transactor, orderKey("k"), semel.Fingerprint{1}, func(ctx context.Context) (order, error) {
				return a.insert(ctx, pgstore.TxFrom(ctx), "k")
			})
			return err
		}},
		"exec": {semel.StateAbsent, semel.StateCompleted, func(a *alone) error {
			_, err := a.exec(t.Context(), a.guard, "k", "k")
			return err
		}},
		"together": {semel.StateAbsent, semel.StateCompleted, func(a *alone) error {
			_, err := a.exec(t.Context(), a.alike, "k", "k")
			return err
		}},
		"run": {semel.StateAbsent, semel.StateCompleted, func(a *alone) error {
			_, err := a.run(t.Context(), a.guard, "k", nil, "k")
			return err
		}},
		"run together": {semel.StateAbsent, semel.StateCompleted, func(a *alone) error {
			_, err := a.run(t.Context(), a.alike, "k", nil, "k")
			return err
		}},
		"database/sql": {semel.StateAbsent, semel.StateCompleted, func(a *alone) error {
			_, _, err := a.doSQL(t.Context(), a.db, "k", nil)
			return err
		}},
	} {
		a := openAlone(t, server.DSN(), name)
		if err := test.call(a); err == nil {
			t.Errorf("%s: it was answered without the standby", name)
		}
		for range 20 { // a cancelled commit would show within some round trips
			shown(a, test.before)(t)
		}
		if !a.waits() {
			t.Errorf("%s: its commit no longer waits", name)
		}
		afterwards[name] = shown(a, test.after)
		t.Cleanup(func() { noError(t, a.db.Close()) })
	}
	execute(t, admin, "ALTER SYSTEM SET synchronous_standby_names = ''")
	execute(t, admin, "SELECT pg_reload_conf()")
	testserver.Eventually(t, "no commit waits", func() (none bool) {
		noError(t, admin.QueryRow(t.Context(), "SELECT count(*) = 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'").Scan(&none))
		return none
	})
	for name, shown := range afterwards { //nolint:paralleltest // they share a server
		t.Run(name, shown)
	}
}
