package dbguard_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/guardtest"
)

// Promise 8: a sweep removes no more than its limit, whatever plan the database
// makes. A plan that works a LIMIT out for each row of the table again, which
// PostgreSQL keeps when it was made while the table was empty, must not matter.
func TestSweepsKeepTheirLimit(t *testing.T) {
	t.Parallel()
	const rows, limit = 200, 10
	db := guardtest.Open(t, dbguard.PostgreSQL)
	makeLocks(t, db)
	makeTokens(t, db)
	dedup := newDedup(t, db)
	db.Run(t,
		"INSERT INTO semel_lock SELECT i::text, 1, '', 0 FROM generate_series(1, 200) i",
		"INSERT INTO semel_token SELECT sha256(i::text::bytea), 1, 0, NULL FROM generate_series(1, 200) i",
		"INSERT INTO semel_dedup SELECT sha256(i::text::bytea), sha256(''), NULL, clock_timestamp() - interval '1 day' FROM generate_series(1, 200) i",
	)
	for name, sweep := range map[string]func(context.Context, dbguard.Session) (int64, error){
		"locks": func(ctx context.Context, s dbguard.Session) (int64, error) {
			return dbguard.LockTable{}.Sweep(ctx, s, time.Hour, limit)
		},
		"tokens": func(ctx context.Context, s dbguard.Session) (int64, error) {
			return dbguard.Tokens{}.Sweep(ctx, s, time.Hour, limit)
		},
		"dedup": func(ctx context.Context, s dbguard.Session) (int64, error) {
			return dedup.Sweep(ctx, s, time.Hour, limit)
		},
	} {
		err := db.InTxAt(t.Context(), sql.LevelDefault, func(ctx context.Context, tx dbguard.Session) error {
			for _, way := range []string{"hashagg", "hashjoin", "mergejoin", "sort", "material", "memoize", "indexscan", "bitmapscan"} {
				if _, err := tx.Exec(ctx, "SET LOCAL enable_"+way+" = off"); err != nil {
					return err
				}
			}
			n, err := sweep(ctx, tx)
			if n != limit {
				t.Errorf("%s: %d of %d rows were removed, want %d", name, n, rows, limit)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
