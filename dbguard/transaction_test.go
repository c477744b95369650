package dbguard_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/dbguard/pgxguard"
	"github.com/semel-dev/semel/internal/guardtest"
)

// outside are all the ways to have a session and no transaction.
func outside(t *testing.T, db *guardtest.Database) map[string]dbguard.Session {
	t.Helper()
	conn, err := db.SQL.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	sessions := map[string]dbguard.Session{
		"database": db.Database, "embedded database": db, "pool": dbguard.SQL(db.Dialect(), db.SQL),
		"embedded pool": dbguard.SQL(db.Dialect(), struct{ *sql.DB }{db.SQL}), "connection": dbguard.SQL(db.Dialect(), conn),
	}
	if db.Pool != nil {
		acquired, err := db.Pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(acquired.Release)
		sessions["pgx pool"], sessions["pool's connection"] = pgxguard.Session(db.Pool), pgxguard.Session(acquired)
		sessions["pgx connection"] = pgxguard.Session(acquired.Conn())
	}
	return sessions
}

// A guard that would be none outside of a transaction says so.
func TestNoTransaction(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		fill(t, db, 1, 150)
		dedup, locks := newDedup(t, db), dbguard.LockTable{}
		segments := newSegments(t, db, 2)
		noError(t, locks.Create(t.Context(), db))
		fence := acquireLock(t, locks.On(db), 1, longLease)
		key := semel.Key{Scope: "s", Name: "n"}
		guards := map[string]func(context.Context, dbguard.Session) error{
			"LockRows": func(ctx context.Context, s dbguard.Session) error {
				return dbguard.LockRows(ctx, s, -1, account(0))
			},
			"LockFree": func(ctx context.Context, s dbguard.Session) error {
				_, err := dbguard.LockFree[int](ctx, s, dbguard.Free{Table: "account", Column: "id"})
				return err
			},
			"First": func(ctx context.Context, s dbguard.Session) error {
				_, err := dedup.First(ctx, s, key, semel.Fingerprint{})
				return err
			},
			"Take": func(ctx context.Context, s dbguard.Session) error { return segments.Take(ctx, s, "a", 1) },
			"CheckFence": func(ctx context.Context, s dbguard.Session) error {
				return (dbguard.LockTable{}).CheckFence(ctx, s, "n", fence)
			},
			"Savepoint": func(ctx context.Context, s dbguard.Session) error {
				return dbguard.Savepoint(ctx, s, func(context.Context, dbguard.Session) error { return nil })
			},
		}
		noError(t, segments.Add(t.Context(), db, "a", 10))
		for where, session := range outside(t, db) {
			for guard, call := range guards {
				if err := call(t.Context(), session); !errors.Is(err, dbguard.ErrNoTransaction) {
					t.Errorf("%s on a %s = %v, want ErrNoTransaction", guard, where, err)
				}
			}
		}
		for guard, call := range guards {
			if err := db.InTx(t.Context(), call); err != nil {
				t.Errorf("%s in a transaction = %v", guard, err)
			}
		}
	})
}

// A connection of pgx in which a transaction was begun is in one, however that
// was done.
func TestTransactionOfAConnection(t *testing.T) {
	t.Parallel()
	db := guardtest.Pgx(t)
	fill(t, db, 1, 150)
	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for name, session := range map[string]dbguard.Session{"acquired": pgxguard.Session(conn), "bare": pgxguard.Session(conn.Conn())} {
		_, err := session.Exec(t.Context(), "BEGIN")
		err = errors.Join(err, dbguard.LockRows(t.Context(), session, -1, account(0)))
		if _, end := session.Exec(t.Context(), "COMMIT"); errors.Join(err, end) != nil {
			t.Errorf("%s: %v", name, errors.Join(err, end))
		}
	}
}
