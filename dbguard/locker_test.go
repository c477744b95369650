package dbguard_test

import (
	"testing"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/guardtest"
	"github.com/semel-dev/semel/internal/locktest"
)

func TestLockTable(t *testing.T) {
	t.Parallel()
	for name, open := range guardtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			locktest.Run(t, func(tb testing.TB) dbguard.LockStore {
				tb.Helper()
				db := open(tb)
				makeLocks(tb, db)
				return dbguard.LockTable{}.On(db)
			})
		})
	}
}

// makeLocks makes the tables of locks and of fences.
func makeLocks(tb testing.TB, db dbguard.Session) {
	tb.Helper()
	noError(tb, (dbguard.LockTable{}).Create(tb.Context(), db))
	noError(tb, (dbguard.FenceTable{}).Create(tb.Context(), db))
}
