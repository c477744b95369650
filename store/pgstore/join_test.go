package pgstore_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// db is a pool of database/sql to the shop's database.
func (s *shop) db(t *testing.T) *sql.DB {
	t.Helper()
	config, err := pgx.ParseConfig(testserver.Postgres(t))
	noError(t, err)
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(6)
	closes(t, db)
	return db
}

func (s *shop) insertSQLTx(ctx context.Context, tx *sql.Tx, name string) (order, error) {
	o := order{Name: name}
	err := tx.QueryRowContext(ctx, "INSERT INTO "+s.orders+" (name) VALUES ($1) RETURNING id", name).Scan(&o.ID)
	return o, err
}

// joined orders in a transaction of the caller's.
func (s *shop) joined(ctx context.Context, tx *sql.Tx, name string, end error) (order, error) {
	return pgstore.Join(ctx, s.guard, tx, orderKey(name), semel.Fingerprint{1}, func(ctx context.Context) (order, error) {
		if pgstore.SQLTxFrom(ctx) != tx {
			return order{}, errors.New("the work does not find the transaction")
		}
		o, err := s.insertSQLTx(ctx, tx, name)
		return o, errors.Join(err, end)
	})
}

// Join refuses a handle without an open transaction.
func TestJoinNeedsTransaction(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	db := s.db(t)
	conn, err := db.Conn(t.Context())
	noError(t, err)
	defer conn.Close()
	done := begin(t, db)
	noError(t, done.Commit())
	for name, tx := range map[string]pgstore.Execer{"a pool": db, "a connection": conn, "one that has ended": done, "nil": nil} {
		_, err := pgstore.Join(t.Context(), s.guard, tx, orderKey("k"), semel.Fingerprint{1}, func(context.Context) (int, error) {
			t.Errorf("%s: the work ran", name)
			return 0, nil
		})
		if err == nil || name != "nil" {
			wantWords(t, err, "no transaction is open to join")
		}
	}
	ended, err := s.pool.Begin(t.Context())
	noError(t, err)
	noError(t, ended.Rollback(t.Context()))
	for name, tx := range map[string]pgx.Tx{"one that has ended": ended, "nil": nil} {
		_, err := pgstore.Join(t.Context(), s.guard, pgstore.Pgx(tx), orderKey("k"), semel.Fingerprint{1}, func(context.Context) (int, error) {
			t.Errorf("%s: the work ran", name)
			return 0, nil
		})
		wantWords(t, err, "no transaction is open to join")
	}
	s.idle(t)
}

// A transaction of Do's can be joined like any other.
func TestJoinOfDo(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	_, err := s.work(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		_, err := pgstore.Join(ctx, s.guard, pgstore.Pgx(tx), orderKey("joined"), semel.Fingerprint{1}, func(ctx context.Context) (order, error) {
			return s.insert(ctx, tx, "joined")
		})
		return err
	})
	noError(t, err)
	s.wantNames(t, "joined")
	s.wantState(t, "joined", semel.StateCompleted)
}

// Promise 3: what became unknown in a transaction that is rolled back stays so.
func TestJoinUnknown(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	tx := begin(t, s.db(t))
	if _, err := s.joined(t.Context(), tx, "unknown", semel.MarkUnknown(errWork)); !errors.Is(err, errWork) {
		t.Errorf("got %v, want %v", err, errWork)
	}
	noError(t, tx.Rollback())
	s.wantState(t, "unknown", semel.StateUnknown)
	s.wantNames(t, "")
}

// Promise 4: an attempt that has to look again, because it met a record which
// the policy lets it take over, is still recorded in the caller's transaction.
func TestJoinAfterUnknown(t *testing.T) {
	t.Parallel()
	for name, join := range map[string]func(*testing.T, *shop) error{
		"sql": func(t *testing.T, s *shop) error {
			t.Helper()
			tx := begin(t, s.db(t))
			_, err := s.joined(t.Context(), tx, "k", nil)
			return errors.Join(err, tx.Rollback())
		},
		"pgx": func(t *testing.T, s *shop) error {
			t.Helper()
			tx, err := s.pool.Begin(t.Context())
			if err != nil {
				return err
			}
			_, err = pgstore.Join(t.Context(), s.guard, pgstore.Pgx(tx), orderKey("k"), semel.Fingerprint{1}, func(ctx context.Context) (order, error) {
				return s.insert(ctx, tx, "k")
			})
			return errors.Join(err, tx.Rollback(t.Context()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, &semel.Options{Policy: semel.Policy{OnUnknown: semel.Rerun}})
			claim, _, err := s.guard.Begin(t.Context(), orderKey("k"), semel.Fingerprint{1})
			noError(t, err)
			noError(t, claim.Unknown("the first attempt broke off"))
			if err := join(t, s); err != nil {
				t.Error(err)
			}
			s.wantNames(t, "")
			s.wantState(t, "k", semel.StateAbsent)
		})
	}
}
