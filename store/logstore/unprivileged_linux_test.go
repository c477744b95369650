package logstore_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/logstore"
	"github.com/semel-dev/semel/store/storetest"
)

const nobody = 65534 // a user that owns no files

// childUnprivileged gives up root, opens the log, and prints the errors that it gets.
func childUnprivileged(ctx context.Context, args []string) error {
	if os.Getuid() == 0 {
		if err := syscall.Setuid(nobody); err != nil {
			return err
		}
	}
	s, err := logstore.Open(ctx, args[0], nil)
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return nil
	}
	fmt.Fprintln(os.Stdout, "opened", s.Close())
	return nil
}

// Errors explain what the file system forbids, and what was named by mistake.
func TestOpenRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode os.FileMode
		file bool
		want []string
	}{
		"read-only":      {0o555, false, []string{"writable for this user"}},
		"not searchable": {0o000, false, []string{"permission denied"}},
		"others write":   {0o777, false, []string{"others can change the files", "0777", "chmod 700"}},
		"a group writes": {0o770, false, []string{"others can change the files", "chmod 700"}},
		"all fine":       {0o700, false, []string{"opened"}},
		"a file":         {0o755, true, []string{"not a directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("/tmp", "semel-log-") //nolint:usetesting // t.TempDir is closed to other users.
			claimtest.NoError(t, err)
			t.Cleanup(func() {
				if err := os.RemoveAll(dir); err != nil {
					t.Error(err)
				}
			})
			place := dir
			if c.file {
				place = dir + "/file"
				claimtest.NoError(t, os.WriteFile(place, nil, 0o600))
			}
			claimtest.NoError(t, os.Chmod(dir, c.mode))
			if os.Getuid() == 0 {
				claimtest.NoError(t, os.Chown(dir, nobody, nobody))
			}
			out, err := storetest.Command(t, "unprivileged", place).Output()
			claimtest.NoError(t, err)
			for _, w := range c.want {
				if !strings.Contains(string(out), w) {
					t.Errorf("got %q, want %q in it", out, w)
				}
			}
		})
	}
}
