package logstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/logstore"
	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Children(map[string]func(context.Context, []string) error{"unprivileged": childUnprivileged}, processes())
	claimtest.Limit(0, 15)
	goleak.VerifyTestMain(m)
}

func processes() storetest.Processes {
	return storetest.Processes{
		Name: "logstore", Single: true,
		Place: func(tb testing.TB) string { tb.Helper(); return filepath.Join(tb.TempDir(), "log") },
		Open: func(ctx context.Context, dir string) (semel.Store, error) {
			return logstore.Open(ctx, dir, logstore.Small(64<<10)) // so that kills also meet new segments
		},
		Check: check,
	}
}

// Promises 1 and 2: a process that is killed loses nothing that it acknowledged, and locks nothing.
func TestProcesses(t *testing.T) {
	t.Parallel()
	storetest.RunProcesses(t, processes())
}

// check reads the log from end to end.
func check(tb testing.TB, dir string) {
	tb.Helper()
	report, err := logstore.Check(context.WithoutCancel(tb.Context()), dir)
	if err != nil || len(report.Damage) > 0 {
		tb.Errorf("got %+v, error %v", report, err)
	}
}

// Promise 1: two processes, or two stores of one, never have the same log.
func TestInUse(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	s := mustOpen(t, dir, nil)
	_, openErr := logstore.Open(t.Context(), dir, nil)
	_, checkErr := logstore.Check(t.Context(), dir)
	_, repairErr := logstore.Repair(t.Context(), dir)
	for _, err := range []error{openErr, checkErr, repairErr} {
		claimtest.WantErr(t, "", err, logstore.ErrInUse)
		claimtest.Words(t, err, dir+" is in use by another process ("+strconv.Itoa(os.Getpid())+"): ", "admin API", "stop it before you check or repair", "SQLite")
	}
	claimtest.NoError(t, s.Close())
	claimtest.NoError(t, mustOpen(t, dir, nil).Close())
}

// Only the owner may read what the log holds.
func TestModes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	claimtest.NoError(t, mustOpen(t, dir, nil).Close())
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	claimtest.NoError(t, errors.Join(err))
	for _, name := range append(names, dir) {
		info, err := os.Stat(name)
		claimtest.NoError(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}
