package mysqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
)

func retryable(err error) bool {
	e, ok := errors.AsType[*semel.Error](err)
	return ok && e.Retryable()
}

// cutting is a connection that breaks when a COMMIT passes: before it is sent,
// or after.
type cutting struct {
	net.Conn

	cut *atomic.Pointer[string]
}

func (c *cutting) Write(p []byte) (int, error) {
	how := c.cut.Load()
	if how == nil || !strings.Contains(string(p), "COMMIT") || !c.cut.CompareAndSwap(how, nil) {
		return c.Conn.Write(p)
	}
	if *how == "before" {
		_ = c.Close()
		return len(p), nil
	}
	n, err := c.Conn.Write(p)
	// The server has answered when it has something to read for us.
	if err == nil {
		_, _ = c.Read(make([]byte, 1))
	}
	_ = c.Close()
	return n, err
}

// Promise 4: when the connection is lost at the commit, the database is asked
// whether it took place; the caller hears the truth.
func TestCommitCutOff(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, d door) {
		t.Helper()
		for _, how := range []string{"before", "after"} {
			t.Run(how, func(t *testing.T) {
				cut := &atomic.Pointer[string]{}
				network := "cutting_" + strings.NewReplacer("/", "_", " ", "_", ",", "").Replace(t.Name())
				mysql.RegisterDialContext(network, func(ctx context.Context, addr string) (net.Conn, error) {
					conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
					return &cutting{conn, cut}, err
				})
				t.Cleanup(func() { mysql.DeregisterDialContext(network) })
				b := setUpTx(t, d, nil)
				cfg := config(t, b.dsn)
				cfg.Net = network
				far := *b
				far.dsn = cfg.FormatDSN()
				far.store, far.guard = far.second(t, nil)
				for i := range 3 {
					name := fmt.Sprint("k", i)
					ran := 0
					cut.Store(&how)
					answer, err := far.do(t.Context(), name, func(ctx context.Context, tx *sql.Tx) (string, error) {
						ran++
						return "answer", insert(ctx, tx, name)
					})
					want := map[string]int{"before": 2, "after": 1}[how] // rolled back, it runs again
					if err != nil || answer != "answer" || ran != want || cut.Load() != nil {
						t.Errorf("got %q, error %v, after %d runs, want %d", answer, err, ran, want)
					}
				}
				b.wantRows(t, "k0", "k1", "k2")
			})
		}
	})
}

// Where the database cannot be asked in time, the caller hears that it is unknown
// what happened, and a retry finds out.
func TestCommitCutOffAndNobodyAnswers(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, d door) {
		t.Helper()
		b := setUpTx(t, d, nil)
		far := *b
		dsn, proxy := proxied(t, b.dsn)
		far.dsn = dsn
		far.store, far.guard = far.second(t, &semel.Options{StoreTimeout: 300 * time.Millisecond})
		for _, name := range []string{"a", "b"} {
			answer, err := far.do(t.Context(), name, func(ctx context.Context, tx *sql.Tx) (string, error) {
				if err := insert(ctx, tx, name); err != nil {
					return "", err
				}
				proxy.LoseReplies()
				return "answer", nil
			})
			want := semel.ErrUnknown
			if !far.store.Ours() { // the reply to the outcome was lost, and the commit not sent
				want = semel.ErrRolledBack
			}
			if !errors.Is(err, want) || !retryable(err) {
				t.Errorf("got %q, error %v, want %v to retry", answer, err, want)
			}
			proxy.Clear()
			proxy.Cut()
			answer, err = mysqlstore.Do(t.Context(), b.guard, key(name), asked(), func(ctx context.Context, tx *sql.Tx) (string, error) {
				return "answer", insert(ctx, tx, name) // it had not committed
			})
			if err != nil || answer != "answer" {
				t.Errorf("the retry got %q, error %v", answer, err)
			}
		}
		b.wantRows(t, "a", "b")
	})
}

// Promise 1: a claim that waited longer than HeldUp has a greater fence than all
// that were given meanwhile.
func TestFenceAfterWaiting(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, d door) {
		t.Helper()
		b := setUpTx(t, d, nil)
		second, _ := b.second(t, nil)
		holder, rec := b.claims(t, b.store, "k")
		waited := make(chan semel.Fence, 1)
		go func() {
			tx, rec := b.claims(t, second, "k")
			_ = tx.Rollback()
			waited <- rec.Fence
		}()
		waiters(t, b.db, 1)
		pause(t.Context(), mysqlstore.HeldUp)
		greatest := rec.Fence
		for i, n := 0, 0; n < 3; i++ {
			// InnoDB locks what lies before the digest that is waited for.
			if p := params(fmt.Sprint("other", i)); bytes.Compare(p.Digest[:], rec.Digest[:]) > 0 {
				greatest = max(greatest, wins(t, b.store, p).Fence)
				n++
			}
		}
		noError(t, holder.Rollback())
		if got := <-waited; got <= greatest {
			t.Errorf("the one that waited got fence %d, want more than %d", got, greatest)
		}
	})
}

// Promise 5: a claim that waited for a connection has not waited for its digest. Otherwise it would begin again, and in the end
// keep its neighbours waiting.
func TestWaitForConnectionIsNone(t *testing.T) {
	t.Parallel()
	const slow = time.Second
	db := quietPool(t, testserver.MySQLDatabase(t))
	db.SetMaxOpenConns(1)
	b := &txBundle{db: db}
	b.store = newStore(t, db, mysqlstore.HeldUpAfter(mysqlstore.WithoutBounds(&mysqlstore.Options{}), slow))
	closes(t, b.store)
	tx, before := b.claims(t, b.store, "before")
	noError(t, tx.Rollback())
	conn, err := db.Conn(t.Context())
	noError(t, err)
	fence := make(chan semel.Fence, 1)
	go func() {
		tx, rec := b.claims(t, b.store, "k")
		_ = tx.Rollback()
		fence <- rec.Fence
	}()
	testserver.Eventually(t, "the claim waits for a connection", func() bool { return db.Stats().WaitCount > 0 })
	pause(t.Context(), slow)
	noError(t, conn.Close())
	if got := <-fence; got != before.Fence+1 {
		t.Errorf("got fence %d after %d: the claim began again", got, before.Fence)
	}
}

// claims opens a transaction and claims, and must win.
func (b *txBundle) claims(t *testing.T, s *mysqlstore.Store, name string) (semel.Tx, semel.Record) {
	t.Helper()
	tx, err := s.Transactor(nil).Transaction(t.Context())
	if err != nil {
		t.Error(err)
		return tx, semel.Record{}
	}
	rec, won, err := tx.Claim(t.Context(), params(name), time.Minute)
	if err != nil || !won {
		t.Errorf("claim %s: won %v, error %v", name, won, err)
	}
	return tx, rec
}
