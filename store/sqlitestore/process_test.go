package sqlitestore_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore"
	"github.com/semel-dev/semel/store/storetest"
)

func processes() storetest.Processes {
	return storetest.Processes{
		Name:  "sqlitestore",
		Place: func(tb testing.TB) string { tb.Helper(); return filepath.Join(tb.TempDir(), "semel.db") },
		Open: func(ctx context.Context, path string) (semel.Store, error) {
			return sqlitestore.Open(ctx, path, nil)
		},
		Check: check,
	}
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	storetest.RunProcesses(t, processes())
}
