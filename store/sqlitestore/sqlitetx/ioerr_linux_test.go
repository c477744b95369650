package sqlitetx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
	"github.com/semel-dev/semel/store/storetest"
)

// childBroken has the log fail under commits, as a broken disk does, by a bound
// on the size of the files it writes. It prints what it met.
func childBroken(ctx context.Context, args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	db, err := openDatabase(args[0], "") //nolint:contextcheck // it has a bound of its own.
	if err != nil {
		return err
	}
	s, err := sqlitetx.Open(ctx, db, nil)
	if err != nil {
		return err
	}
	g, err := semel.New(s, nil)
	if err != nil {
		return err
	}
	var whole syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &whole); err != nil {
		return err
	}
	do := func(name string, brokenRounds int) (rounds int, err error) {
		defer func() { err = errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &whole)) }()
		_, err = sqlitetx.Do(ctx, g, key(name), sameRequest(), func(ctx context.Context, tx *sql.Tx) (string, error) {
			limit := whole
			if rounds++; rounds <= brokenRounds {
				limit.Cur = 4096
			}
			return "answer " + name, errors.Join(insert(ctx, tx, name), syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
		})
		return rounds, err
	}
	rounds, err := do("fixed", 2)
	fmt.Fprintln(os.Stdout, "fixed:", rounds, err)
	_, err = do("broken", 1000)
	fmt.Fprintln(os.Stdout, "broken:", errors.Is(err, semel.ErrRolledBack), strings.Contains(err.Error(), "kernel's log"))
	return errors.Join(g.Close(), s.Close(), db.Close()) //nolint:contextcheck // it has a bound of its own.
}

// Promise 4: when the disk fails under the commit, the database is asked
// about the record: nothing was committed here, so the work runs again.
func TestCommitOnABrokenDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	out, err := storetest.Command(t, "broken", path).Output()
	if want := "fixed: 3 <nil>\nbroken: true true\n"; err != nil || string(out) != want {
		t.Errorf("got %q, error %v, want %q", out, err, want)
	}
	db := database(t, path, "")
	mustOpen(t, db, nil)
	if names := wantRowsOfRecords(t, db); !slices.Equal(names, []string{"fixed"}) {
		t.Errorf("got rows %v, want fixed", names)
	}
	verify(t, path)
}
