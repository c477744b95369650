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

// Two stores in one process are as good as two processes.
func TestTwoStoresOneFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "semel.db")
	a, b := open(t, path, nil), open(t, path, nil)
	rec, won, err := a.Claim(t.Context(), params("k"))
	if err != nil || !won {
		t.Fatalf("won %v, error %v", won, err)
	}
	other := params("k")
	other.Owner = semel.Owner{2}
	if _, won, err := b.Claim(t.Context(), other); err != nil || won {
		t.Errorf("the other store: won %v, error %v, want the claim held", won, err)
	}
	if err := b.Settle(t.Context(), rec.Digest, rec.Fence, completed("x")); err != nil {
		t.Error(err)
	}
	if got, err := a.Lookup(t.Context(), rec.Digest); err != nil || string(got.Outcome) != "x" {
		t.Errorf("got %q, error %v, want x", got.Outcome, err)
	}
	next, _, err := a.Claim(t.Context(), params("next"))
	if err != nil || next.Fence != rec.Fence+1 {
		t.Errorf("got fence %d, error %v, want %d", next.Fence, err, rec.Fence+1)
	}
}
