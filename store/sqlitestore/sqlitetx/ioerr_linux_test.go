package sqlitetx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// childBroken has the log fail under commits, as a broken disk does, by a bound
// on the size of the files it writes. It prints what it met.
func childBroken(path string) int {
	signal.Ignore(syscall.SIGXFSZ)
	db, err := openDatabase(path, "")
	if err != nil {
		return complain(err)
	}
	s, err := sqlitetx.Open(context.Background(), db, nil)
	if err != nil {
		return complain(err)
	}
	g, err := semel.New(s, nil)
	if err != nil {
		return complain(err)
	}
	var whole syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &whole); err != nil {
		return complain(err)
	}
	do := func(name string, brokenRounds int) (rounds int, err error) {
		defer func() { err = errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &whole)) }()
		_, err = sqlitetx.Do(context.Background(), g, key(name), sameRequest(), func(ctx context.Context, tx *sql.Tx) (string, error) {
			limit := whole
			if rounds++; rounds <= brokenRounds {
				limit.Cur = 4096
			}
			return "answer " + name, errors.Join(insert(ctx, tx, name), syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
		})
		return rounds, err
	}
	rounds, err := do("mended", 2)
	fmt.Fprintln(os.Stdout, "mended:", rounds, err)
	_, err = do("broken", 1000)
	fmt.Fprintln(os.Stdout, "broken:", errors.Is(err, semel.ErrRolledBack), strings.Contains(err.Error(), "kernel's log"))
	if err := errors.Join(g.Close(), s.Close(), db.Close()); err != nil {
		return complain(err)
	}
	return 0
}

// Promise 4: when the disk fails under the commit, the database is asked what
// became of it: here nothing did, so the work runs again.
func TestCommitOnABrokenDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	out, err := childCommand(t, "broken", path).Output()
	if want := "mended: 3 <nil>\nbroken: true true\n"; err != nil || string(out) != want {
		t.Errorf("got %q, error %v, want %q", out, err, want)
	}
	db := database(t, path, "")
	names := wantRowsOfRecords(t, db, mustOpen(t, db, nil))
	if len(names) != 1 || !names["mended"] {
		t.Errorf("got the rows %v, want mended", names)
	}
	verify(t, path)
}
