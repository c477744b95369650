package inbox_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/pgstore"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

const (
	createEffects = "CREATE TABLE effects (message VARCHAR(64) NOT NULL)"
	countEffects  = "SELECT COUNT(*) FROM effects"
)

// database keeps the effects of messages together with their records.
type database struct {
	store      semel.Store
	transactor semel.Transactor
	with       func(id string) semel.Transactor           // instead, for a message whose statements are known
	insert     func(ctx context.Context, id string) error // in the handler's transaction
	count      func(ctx context.Context) (int, error)
}

func overSQL(t *testing.T, db *sql.DB, open func() (semel.Store, semel.Transactor, error), txFrom func(context.Context) *sql.Tx) database {
	t.Helper()
	_, err := db.ExecContext(t.Context(), createEffects)
	claimtest.NoError(t, err)
	store, transactor, err := open()
	claimtest.NoError(t, err)
	return database{
		store, transactor, nil,
		func(ctx context.Context, id string) error {
			_, err := txFrom(ctx).ExecContext(ctx, "INSERT INTO effects (message) VALUES (?)", id)
			return err
		},
		func(ctx context.Context) (n int, err error) {
			err = db.QueryRowContext(ctx, countEffects).Scan(&n)
			return n, err
		},
	}
}

func sqlite(t *testing.T) database {
	t.Helper()
	db, err := openSQLite(t.TempDir())
	claimtest.NoError(t, err)
	claimtest.Closes(t, db)
	return overSQL(t, db, func() (semel.Store, semel.Transactor, error) {
		s, err := sqlitetx.Open(t.Context(), db, nil)
		return s, s.Transactor(), err
	}, sqlitetx.TxFrom)
}

func openSQLite(folder string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+filepath.Join(folder, "inbox.db")+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)&_txlock=immediate")
}

func mysql(t *testing.T) database {
	t.Helper()
	db, err := sql.Open("mysql", testserver.MySQLDatabase(t))
	claimtest.NoError(t, err)
	claimtest.Closes(t, db)
	return overSQL(t, db, func() (semel.Store, semel.Transactor, error) {
		s, err := mysqlstore.New(t.Context(), db, nil)
		return s, s.Transactor(nil), err
	}, mysqlstore.TxFrom)
}

func postgres(t *testing.T) database {
	t.Helper()
	s, err := pgstore.Open(t.Context(), testserver.PostgresDatabase(t), nil)
	claimtest.NoError(t, err)
	_, err = s.Pool().Exec(t.Context(), createEffects)
	claimtest.NoError(t, err)
	return database{
		s, s.Transactor(nil), nil,
		func(ctx context.Context, id string) error {
			_, err := pgstore.TxFrom(ctx).Exec(ctx, "INSERT INTO effects (message) VALUES ($1)", id)
			return err
		},
		func(ctx context.Context) (n int, err error) {
			err = s.Pool().QueryRow(ctx, countEffects).Scan(&n)
			return n, err
		},
	}
}

// of returns the transactor for a message.
func (d *database) of(id string) semel.Transactor {
	if d.with != nil {
		return d.with(id)
	}
	return d.transactor
}

// TestDatabases: on every database, effects and records of messages commit together; attempts that
// fail are counted, and a message that cannot be handled is in quarantine (promises 3, 4 and 7).
func TestDatabases(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) database{
		"sqlite": sqlite, "postgresql": postgres, "mysql": mysql,
		"statements": func(t *testing.T) database { t.Helper(); return statements(t, nil) },
		"shared":     func(t *testing.T) database { t.Helper(); return statements(t, &pgstore.Options{Together: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			c := &consumer{guard: claimtest.Guard(t, d.store, nil)}
			t.Cleanup(func() { _ = d.store.Close() })
			var err error
			c.Inbox, err = inbox.New(c.guard, &inbox.Options{Consumer: "billing", MaxAttempts: 3, Pause: time.Millisecond})
			claimtest.NoError(t, err)
			n := 0
			var fails error
			insert := func(ctx context.Context, m inbox.Message) error {
				n++
				claimtest.NoError(t, d.insert(ctx, m.ID))
				if fails != nil && fails.Error() == "panic" {
					panic(fails)
				}
				return fails
			}
			handle := func(m inbox.Message, deliveries int) (v inbox.Verdict) {
				t.Helper()
				m.Deliveries = deliveries
				testserver.Eventually(t, "the message's pause is over", func() bool {
					v = c.HandleTx(t.Context(), d.of(m.ID), m, insert)
					return v.Reason != "pausing" && v.Reason != "in-flight" // the server takes a moment to see that a connection is gone
				})
				return v
			}
			wantEffects := func(effects, runs int) {
				t.Helper()
				got, err := d.count(t.Context())
				if err != nil || got != effects || n != runs {
					t.Fatalf("%d effects of %d runs, %v, want %d of %d", got, n, err, effects, runs)
				}
			}
			want(t, handle(message("1", "a"), 1), inbox.Ack, "handled")
			for deliveries := range 6 {
				want(t, handle(message("1", "a"), deliveries), inbox.Ack, "duplicate")
			}
			want(t, handle(message("1", "b"), 2), inbox.Quarantine, "mismatch")
			wantEffects(1, 1)
			fails = errDown
			for deliveries := 1; deliveries <= 2; deliveries++ {
				want(t, handle(message("2", "a"), deliveries), inbox.Retry, "failed")
			}
			fails = nil
			want(t, handle(message("2", "a"), 3), inbox.Ack, "handled")
			wantEffects(2, 4)
			for _, fails = range []error{errDown, context.DeadlineExceeded, errors.New("panic")} {
				id := fails.Error()
				for range 2 {
					want(t, handle(message(id, "a"), 0), inbox.Retry, "failed")
				}
				want(t, handle(message(id, "a"), 0), inbox.Quarantine, "attempts")
				want(t, handle(message(id, "a"), 1), inbox.Quarantine, "quarantined")
			}
			fails = semel.MarkFinal(errDown)
			want(t, handle(message("3", "a"), 1), inbox.Quarantine, "final")
			fails = semel.MarkUnknown(errDown)
			want(t, handle(message("4", "a"), 1), inbox.Quarantine, "unknown")
			want(t, handle(message("4", "a"), 2), inbox.Quarantine, "quarantined")
			wantEffects(2, 15)
			fails = nil
			for _, h := range c.held(t) {
				c.release(t, h)
			}
			c.releasedTo(t, func(ctx context.Context, m inbox.Message) inbox.Verdict {
				return c.HandleTx(ctx, d.of(m.ID), m, insert)
			}, func() bool {
				for _, h := range c.held(t) {
					if h.Decision != "handled" {
						return false
					}
				}
				return true
			})
			wantEffects(2+6, 15+6)
		})
	}
}

// Deliveries that find the message being handled begin no attempt, and use none up.
func TestRedeliveredWhileHandled(t *testing.T) {
	t.Parallel()
	d := postgres(t)
	t.Cleanup(func() { _ = d.store.Close() })
	in, err := inbox.New(claimtest.Guard(t, d.store, nil), &inbox.Options{Consumer: "billing", Pause: time.Millisecond})
	claimtest.NoError(t, err)
	begun, hold, held := make(chan struct{}), make(chan struct{}), make(chan inbox.Verdict, 1)
	goOn := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(goOn)
	m := message("1", "a")
	m.Deliveries = 1
	go func() {
		held <- in.HandleTx(t.Context(), d.transactor, m, func(ctx context.Context, m inbox.Message) error {
			close(begun)
			<-hold
			return d.insert(ctx, m.ID)
		})
	}()
	<-begun
	m.Deliveries = 2
	for range 8 { // more than MaxAttempts
		want(t, in.HandleTx(t.Context(), d.transactor, m, nil), inbox.Retry, "in-flight")
	}
	goOn()
	want(t, <-held, inbox.Ack, "handled")
	if n, err := d.count(t.Context()); n != 1 || err != nil {
		t.Errorf("got %d effects, %v; want 1", n, err)
	}
}

// flaky opens no transaction while it is set.
type flaky struct {
	semel.Transactor
	fails atomic.Bool
}

func (f *flaky) Transaction(ctx context.Context) (semel.Tx, error) {
	if f.fails.Load() {
		return nil, errDown
	}
	return f.Transactor.Transaction(ctx)
}

// TestRolledBackWithoutRecord: a message that was rolled back and must not run on a guess does not, although the store was away, or
// full, when that was to be recorded (promise 3). What a full store refused is recorded once there is room.
func TestRolledBackWithoutRecord(t *testing.T) {
	t.Parallel()
	const lapses = 100 * time.Millisecond
	for _, test := range []struct {
		name         string
		fails, store error
		lease        time.Duration
		asks         bool
		act          inbox.Act
		why          inbox.Reason
	}{
		{"final", semel.MarkFinal(errDown), errDown, lapses, false, inbox.Quarantine, "unknown"},
		{"final, full", semel.MarkFinal(errDown), semel.ErrFull, time.Minute, false, inbox.Quarantine, "final"},
		{"unknown", semel.MarkUnknown(errDown), errDown, lapses, false, inbox.Quarantine, "unknown"},
		{"unknown, with Ask", semel.MarkUnknown(errDown), errDown, lapses, true, inbox.Ack, "duplicate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := sqlite(t)
			t.Cleanup(func() { _ = d.store.Close() })
			transactor, intents := &flaky{Transactor: d.transactor}, "semel:inbox:"
			s := &away{Store: d.store, scopes: map[semel.Digest]string{}, fails: test.store}
			guard := claimtest.Guard(t, s, &semel.Options{Policy: semel.Policy{Lease: test.lease}, StoreTimeout: time.Second})
			o := &inbox.Options{Consumer: "billing", Pause: time.Millisecond}
			if test.asks {
				o.Ask = func(context.Context, semel.Record, inbox.Message) (semel.Reconciliation, error) {
					return semel.Reconciliation{Verdict: semel.Happened}, nil
				}
			}
			in, err := inbox.New(guard, o)
			claimtest.NoError(t, err)
			n := 0
			handle := func(deliveries int) inbox.Verdict {
				m := message("1", "a")
				m.Deliveries = deliveries
				return in.HandleTx(t.Context(), transactor, m, func(context.Context, inbox.Message) error {
					n++
					transactor.fails.Store(true)
					s.settles.Store(&intents)
					return test.fails
				})
			}
			want(t, handle(1), inbox.Retry, "unavailable")
			if n != 1 {
				t.Fatal("the handler did not run before the store was away")
			}
			s.settles.Store(nil)
			transactor.fails.Store(false)
			var v inbox.Verdict
			testserver.Eventually(t, "the record, or the end of the lease", func() bool { v = handle(2); return v.Reason != "in-flight" })
			want(t, v, test.act, test.why)
			if n != 1 {
				t.Errorf("handled %d times, want once", n)
			}
		})
	}
}
