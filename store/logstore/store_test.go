package logstore_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/logstore"
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

func instance(tb testing.TB) *storetest.Instance {
	tb.Helper()
	clock := &claimtest.Clock{}
	dir := filepath.Join(tb.TempDir(), "log")
	inst := claimtest.Instance(tb, func(tb testing.TB) *logstore.Store {
		tb.Helper()
		s, err := logstore.Open(tb.Context(), dir, &logstore.Options{Now: clock.Now})
		claimtest.NoError(tb, err)
		return s
	})
	inst.Advance = clock.Advance
	inst.Check = func(tb testing.TB) {
		tb.Helper()
		if report, err := logstore.Check(context.WithoutCancel(tb.Context()), dir); err == nil && len(report.Damage) > 0 {
			tb.Errorf("the log is damaged: %+v", report) // an error means that the rule left it open
		}
	}
	return inst
}
