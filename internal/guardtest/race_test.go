package guardtest_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/guardtest"
)

// The race is real: the usual guard loses it on every database.
// This is the counter-example of every guard's test.
func TestNaiveLoses(t *testing.T) {
	t.Parallel()
	const keys = 20
	for name, open := range guardtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			effects := guardtest.NewEffects(t, db)
			guardtest.Race(t, guardtest.Callers, keys, func(ctx context.Context, _, key int) error {
				return effects.Naive(ctx, key)
			})
			wrong := effects.Wrong(t, keys)
			t.Logf("select, then insert: %d of %d keys were done more than once", wrong, keys)
			if wrong == 0 {
				t.Error("select, then insert did every key once: this race shows nothing")
			}
		})
	}
}

// Work that is not done, done twice and done once is distinguished.
func TestEffects(t *testing.T) {
	t.Parallel()
	for name, open := range guardtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			effects := guardtest.NewEffects(t, db)
			for _, key := range []int{1, 2, 2} {
				if err := effects.Add(t.Context(), db, key); err != nil {
					t.Fatal(err)
				}
			}
			if got := effects.Wrong(t, 3); got != 2 {
				t.Errorf("Wrong = %d, want 2: key 0 has no effect and key 2 has two", got)
			}
		})
	}
}

// A transaction has the level that was asked for.
func TestInTxAt(t *testing.T) {
	t.Parallel()
	for name, open := range guardtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			db.Run(t, "CREATE TABLE n (v int NOT NULL)", "INSERT INTO n VALUES (1)")
			for level, want := range map[sql.IsolationLevel]int64{sql.LevelReadCommitted: 2, sql.LevelRepeatableRead: 1} {
				if db.Dialect() == dialect.SQLite {
					continue // its transaction would wait for itself
				}
				db.Run(t, "UPDATE n SET v = 1")
				var seen int64
				err := db.InTxAt(t.Context(), level, func(ctx context.Context, tx dbguard.Session) error {
					for range 2 {
						rows, err := tx.Query(ctx, "SELECT v FROM n")
						if err != nil {
							return err
						}
						rows.Next()
						if err := rows.Scan(&seen); err != nil {
							return err
						}
						if err := rows.Close(); err != nil {
							return err
						}
						if _, err := db.Exec(ctx, "UPDATE n SET v = 2"); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if seen != want {
					t.Errorf("%s: the second look shows %d, want %d", level, seen, want)
				}
			}
		})
	}
}
