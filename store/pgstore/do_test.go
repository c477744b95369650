package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// shop is an application: orders, and records next to them.
type shop struct {
	pool   *pgxpool.Pool
	store  *pgstore.Store
	guard  *semel.Guard
	orders string // the table
}

func openShop(t *testing.T, o *semel.Options) *shop {
	t.Helper()
	return openShopAt(t, testserver.Postgres(t), o)
}

func openShopAt(t *testing.T, dsn string, o *semel.Options) *shop {
	t.Helper()
	s := &shop{pool: pool(t, dsn, 8)}
	s.store = newStore(t, s.pool, &pgstore.Options{Schema: testserver.PostgresSchema(t)})
	s.orders = quoted(s.store.SchemaName()) + ".orders"
	execute(t, s.pool, "CREATE TABLE "+s.orders+" (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, "+
		"CONSTRAINT once UNIQUE (name) DEFERRABLE INITIALLY DEFERRED)")
	s.guard = newGuard(t, s.store, o)
	closes(t, s.store)
	return s
}

func orderKey(name string) semel.Key { return semel.Key{Scope: "orders", Name: name} }

// order is the result of an order.
type order struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// insert is the work of most tests.
func (s *shop) insert(ctx context.Context, tx pgx.Tx, name string) (order, error) {
	o := order{Name: name}
	err := tx.QueryRow(ctx, "INSERT INTO "+s.orders+" (name) VALUES ($1) RETURNING id", name).Scan(&o.ID)
	return o, err
}

// do orders once.
func (s *shop) do(ctx context.Context, name string) (order, error) {
	return pgstore.Do(ctx, s.guard, orderKey(name), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (order, error) {
		return s.insert(ctx, tx, name)
	})
}

// work does what fn does, under the name k.
func (s *shop) work(ctx context.Context, fn func(context.Context, pgx.Tx) error) (ran int, err error) {
	_, err = pgstore.Do(ctx, s.guard, orderKey("k"), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (string, error) {
		ran++
		return "answer", fn(ctx, tx)
	})
	return ran, err
}

// names are the orders that were committed, in their order.
func (s *shop) names(tb testing.TB) string {
	tb.Helper()
	rows, err := s.pool.Query(context.WithoutCancel(tb.Context()), "SELECT name FROM "+s.orders+" ORDER BY id")
	noError(tb, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	noError(tb, err)
	return strings.Join(names, " ")
}

func (s *shop) wantNames(t *testing.T, want string) {
	t.Helper()
	if got := s.names(t); got != want {
		t.Errorf("orders: got %q, want %q", got, want)
	}
}

func (s *shop) wantState(t *testing.T, name string, want semel.State) {
	t.Helper()
	claimtest.WantState(t, s.store, s.guard, orderKey(name), want)
}

// idle waits until every connection was given back, and fails when one of them
// is not fit to be used.
func (s *shop) idle(t *testing.T) {
	t.Helper()
	testserver.Eventually(t, "all connections are given back", func() bool { return s.pool.Stat().AcquiredConns() == 0 })
	execute(t, s.pool, "SELECT 1")
}

// Promises 2 and 4: the row and the answer are one, and a duplicate gets it.
func TestDo(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	first, err := s.do(t.Context(), "a")
	if err != nil || first.ID == 0 {
		t.Fatalf("got %v, error %v", first, err)
	}
	again, err := s.do(t.Context(), "a")
	if err != nil || again != first {
		t.Errorf("got %v, error %v, want %v", again, err, first)
	}
	s.wantNames(t, "a")
	s.idle(t)
}

// A guard over another store says what is wrong.
func TestDoNeedsThisStore(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	g := newGuard(t, otherStore{s.store}, nil)
	_, err := pgstore.Do(t.Context(), g, orderKey("a"), semel.Fingerprint{1}, func(context.Context, pgx.Tx) (int, error) { return 0, nil })
	wantWords(t, err, "pgstore: the guard keeps its records in a", "pgstore.Open")
	g = newGuard(t, wrapper{s.store}, nil)
	if _, err := pgstore.Do(t.Context(), g, orderKey("a"), semel.Fingerprint{1}, func(context.Context, pgx.Tx) (int, error) { return 0, nil }); err != nil {
		t.Errorf("a store that is wrapped: %v", err)
	}
}

type otherStore struct{ semel.Store }

type wrapper struct{ semel.Store }

func (w wrapper) Unwrap() semel.Store { return w.Store }

// Whatever pgx can do in a transaction, the work can, and all of it is undone
// with it (promise 4).
func TestDoOffersAllOfPgx(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	boom := errors.New("boom")
	for _, fail := range []error{boom, nil} {
		_, err := s.work(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			return errors.Join(s.everything(ctx, tx), fail)
		})
		wantErr(t, "", err, fail)
		if fail != nil {
			s.wantNames(t, "")
		}
	}
	s.wantNames(t, "exec query batch copied1 copied2 inner after large prepared conn")
	s.wantState(t, "k", semel.StateCompleted)
	s.idle(t)
}

// everything uses each method of a transaction.
func (s *shop) everything(ctx context.Context, tx pgx.Tx) error {
	insert := "INSERT INTO " + s.orders + " (name) VALUES ($1)"
	if _, err := tx.Exec(ctx, insert, "exec"); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, insert+" RETURNING name", "query")
	if err != nil {
		return err
	}
	if name, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string]); err != nil || name != "query" {
		return fmt.Errorf("query: %q: %w", name, err)
	}
	var b pgx.Batch
	b.Queue(insert, "batch")
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	n, err := tx.CopyFrom(ctx, pgx.Identifier{s.store.SchemaName(), "orders"}, []string{"name"}, pgx.CopyFromRows([][]any{{"copied1"}, {"copied2"}}))
	if err != nil || n != 2 {
		return fmt.Errorf("copy: %d: %w", n, err)
	}
	if err := s.savepoints(ctx, tx, insert); err != nil {
		return err
	}
	if err := large(ctx, tx.LargeObjects()); err != nil {
		return fmt.Errorf("large objects: %w", err)
	}
	if _, err := tx.Exec(ctx, insert, "large"); err != nil {
		return err
	}
	if _, err := tx.Prepare(ctx, "prepared", insert); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "prepared", "prepared"); err != nil {
		return err
	}
	_, err = tx.Conn().Exec(ctx, insert, "conn")
	return err
}

// savepoints undoes one part of the work and keeps another.
func (*shop) savepoints(ctx context.Context, tx pgx.Tx, insert string) error {
	boom := errors.New("boom")
	err := pgx.BeginFunc(ctx, tx, func(sp pgx.Tx) error {
		if _, err := sp.Exec(ctx, insert, "undone"); err != nil {
			return err
		}
		if _, err := sp.Exec(ctx, "SELECT 1 / 0"); err == nil {
			return errors.New("1 / 0 is a number")
		}
		return boom
	})
	if !errors.Is(err, boom) {
		return fmt.Errorf("savepoint: %w", err)
	}
	err = pgx.BeginFunc(ctx, tx, func(sp pgx.Tx) error {
		return pgx.BeginFunc(ctx, sp, func(inner pgx.Tx) error {
			_, err := inner.Exec(ctx, insert, "inner")
			return err
		})
	})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, insert, "after")
	return err
}

// large writes and reads a large object.
func large(ctx context.Context, all pgx.LargeObjects) error {
	oid, err := all.Create(ctx, 0)
	if err != nil {
		return err
	}
	o, err := all.Open(ctx, oid, pgx.LargeObjectModeRead|pgx.LargeObjectModeWrite)
	if err != nil {
		return err
	}
	if _, err := o.Write([]byte("large")); err != nil {
		return err
	}
	if _, err := o.Seek(0, io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(o)
	if err != nil || string(text) != "large" {
		return fmt.Errorf("read %q: %w", text, err)
	}
	return all.Unlink(ctx, oid)
}

// Promise 4: what the work does to its transaction, nothing is committed
// without the record.
func TestDoEndedByWork(t *testing.T) {
	t.Parallel()
	insert := func(s *shop) func(context.Context, pgx.Tx) error {
		return func(ctx context.Context, tx pgx.Tx) error { _, err := s.insert(ctx, tx, "k"); return err }
	}
	for name, tt := range map[string]struct {
		then  func(ctx context.Context, s *shop, tx pgx.Tx) error
		words []string
		names string
		state semel.State
	}{
		"Commit returned": {
			then:  func(ctx context.Context, _ *shop, tx pgx.Tx) error { return tx.Commit(ctx) },
			words: []string{"commits with the outcome when the work returns"},
		},
		"Commit ignored": {
			then:  func(ctx context.Context, _ *shop, tx pgx.Tx) error { _ = tx.Commit(ctx); return nil },
			names: "k", state: semel.StateCompleted,
		},
		"Rollback": {
			then:  func(ctx context.Context, _ *shop, tx pgx.Tx) error { return tx.Rollback(ctx) },
			words: []string{"rolled back", "return an error instead"},
		},
		"statement after Rollback": {
			then: func(ctx context.Context, s *shop, tx pgx.Tx) error {
				_ = tx.Rollback(ctx)
				_, err := s.insert(ctx, tx, "late")
				return err
			},
			words: []string{"tx is closed"},
		},
		"failed statement ignored": {
			then: func(ctx context.Context, _ *shop, tx pgx.Tx) error {
				_, _ = tx.Exec(ctx, "SELECT 1 / 0")
				return nil
			},
			words: []string{"a statement of the work failed", "savepoint"},
		},
		"open rows": {
			then: func(ctx context.Context, _ *shop, tx pgx.Tx) error {
				rows, err := tx.Query(ctx, "SELECT generate_series(1, 3)")
				rows.Next()
				return err
			},
			words: []string{"still reads rows"},
		},
		"COMMIT": {
			then: func(ctx context.Context, _ *shop, tx pgx.Tx) error { _, err := tx.Exec(ctx, "COMMIT"); return err },
			// The rows were committed without the answer, so no caller guesses.
			words: []string{"outcome is unknown"}, names: "k", state: semel.StateUnknown,
		},
		"COMMIT AND CHAIN": {
			then: func(ctx context.Context, s *shop, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "COMMIT AND CHAIN")
				_, late := s.insert(ctx, tx, "late")
				return errors.Join(err, late)
			},
			words: []string{"outcome is unknown"}, names: "k", state: semel.StateUnknown,
		},
		"ROLLBACK and BEGIN": {
			then: func(ctx context.Context, s *shop, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "ROLLBACK; BEGIN", pgx.QueryExecModeSimpleProtocol)
				_, late := s.insert(ctx, tx, "late")
				return errors.Join(err, late)
			},
			words: []string{"outcome is unknown"}, state: semel.StateUnknown,
		},
		"ROLLBACK": {
			then:  func(ctx context.Context, _ *shop, tx pgx.Tx) error { _, err := tx.Exec(ctx, "ROLLBACK"); return err },
			words: []string{"outcome is unknown"}, state: semel.StateUnknown,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, nil)
			ran, err := s.work(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
				if err := insert(s)(ctx, tx); err != nil {
					return err
				}
				return tt.then(ctx, s, tx)
			})
			if tt.words == nil {
				if err != nil {
					t.Error(err)
				}
			} else {
				wantWords(t, err, tt.words...)
			}
			if ran != 1 {
				t.Errorf("the work ran %d times", ran)
			}
			s.wantNames(t, tt.names)
			s.wantState(t, "k", tt.state)
			s.idle(t)
		})
	}
}

// The transaction is of no use once the work has returned.
func TestDoAfterwards(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	var kept pgx.Tx
	var late context.Context
	if _, err := s.work(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		kept, late = tx, context.WithoutCancel(ctx)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	_, execErr := kept.Exec(late, "SELECT 1")
	rows, queryErr := kept.Query(late, "SELECT 1")
	_, beginErr := kept.Begin(late)
	_, prepareErr := kept.Prepare(late, "p", "SELECT 1")
	_, copyErr := kept.CopyFrom(late, pgx.Identifier{"x"}, nil, nil)
	objects := kept.LargeObjects()
	_, largeErr := objects.Create(late, 0)
	for name, err := range map[string]error{
		"Exec": execErr, "Query": queryErr, "rows": rows.Err(), "Begin": beginErr, "Prepare": prepareErr, "CopyFrom": copyErr,
		"QueryRow":  kept.QueryRow(late, "SELECT 1").Scan(new(int)),
		"SendBatch": kept.SendBatch(late, &pgx.Batch{}).Close(),
		"Rollback":  kept.Rollback(late), "LargeObjects": largeErr,
	} {
		wantErr(t, name+": ", err, pgx.ErrTxClosed)
	}
	if kept.Conn() != nil {
		t.Error("another caller has the connection by now")
	}
}

// An error that the database keeps for the end is the caller's, and work that
// cannot succeed is not run again and again.
func TestDoDeferredConstraint(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	if _, err := s.do(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	ran := 0
	_, err := pgstore.Do(t.Context(), s.guard, orderKey("second"), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (order, error) {
		ran++
		return s.insert(ctx, tx, "k")
	})
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if !errors.Is(err, semel.ErrRolledBack) || errors.Is(err, semel.ErrLost) || !ok || pgErr.ConstraintName != "once" || ran != 1 {
		t.Errorf("got %v after %d runs, want %v by the constraint, after one", err, ran, semel.ErrRolledBack)
	}
	s.wantNames(t, "k")
	s.wantState(t, "second", semel.StateAbsent)
	s.idle(t)
}
