package sqlitestore_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/sqlitestore"
	"github.com/semel-dev/semel/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, instance)
}

func TestStoreUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, instance)
}

// instance is the harness: a fresh file, and a look into it after every rule.
func instance(tb testing.TB) *storetest.Instance {
	tb.Helper()
	clock := &claimtest.Clock{}
	o := &sqlitestore.Options{Now: clock.Now}
	path := filepath.Join(tb.TempDir(), "semel.db")
	inst := claimtest.Instance(tb, func(tb testing.TB) *sqlitestore.Store { tb.Helper(); return mustOpen(tb, path, o) })
	inst.Advance = clock.Advance
	inst.Check = func(tb testing.TB) { tb.Helper(); check(tb, path) }
	return inst
}

func mustOpen(tb testing.TB, path string, o *sqlitestore.Options) *sqlitestore.Store {
	tb.Helper()
	s, err := sqlitestore.Open(tb.Context(), path, o)
	noError(tb, err)
	return s
}

// check looks into the file as another process would.
func check(tb testing.TB, path string) {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	s, err := sqlitestore.Open(ctx, path, &sqlitestore.Options{ReadOnly: true})
	noError(tb, err)
	noError(tb, s.Check(ctx))
	noError(tb, s.Close())
}
