package guardtest_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/guardtest"
)

// Work that is not done, done twice and done once is distinguished.
func TestEffects(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
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

// A transaction has the level that was asked for.
func TestInTxAt(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		db.Run(t, "CREATE TABLE n (v int NOT NULL)", "INSERT INTO n VALUES (1)")
		for level, want := range map[sql.IsolationLevel]int64{sql.LevelReadCommitted: 2, sql.LevelRepeatableRead: 1} {
			if db.Dialect() == dbguard.SQLite {
				continue // its transaction would wait for itself
			}
			db.Run(t, "UPDATE n SET v = 1")
			var seen int64
			err := db.InTxAt(t.Context(), level, func(ctx context.Context, tx dbguard.Session) error {
				for range 2 {
					var err error
					if seen, err = guardtest.Number(ctx, tx, "SELECT v FROM n"); err != nil {
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
