package sqlitestore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/semel-dev/semel/store/sqlitestore"
	"github.com/semel-dev/semel/store/storetest"
)

// This is the uid of a user that owns no files.
const nobody = 65534

// childUnprivileged gives up root, opens the store, and prints what it meets.
func childUnprivileged(ctx context.Context, args []string) error {
	if os.Getuid() == 0 {
		if err := syscall.Setuid(nobody); err != nil {
			return err
		}
	}
	s, err := sqlitestore.Open(ctx, args[0], nil)
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return nil
	}
	fmt.Fprintln(os.Stdout, "opened", s.Close()) //nolint:contextcheck // it has a bound of its own.
	return nil
}

// Errors explain what the file system forbids.
func TestPermissions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		dir, file      os.FileMode
		exists, closed bool
		wants          []string
	}{
		{name: "directory not writable", dir: 0o555, wants: []string{"create", "make the directory writable"}},
		{name: "file not readable", dir: 0o777, file: 0o000, exists: true, wants: []string{"open", "may read and write the file"}},
		{name: "file not writable", dir: 0o777, file: 0o444, exists: true, wants: []string{"open", "writable for this user"}},
		{name: "neither writable", dir: 0o555, file: 0o444, exists: true, wants: []string{"open", "writ"}},
		{name: "directory not searchable", dir: 0o000, file: 0o444, exists: true, wants: []string{"permission denied", "check the owner and the mode"}},
		{name: "all fine", dir: 0o777, file: 0o666, exists: true, wants: []string{"opened"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("/tmp", "semel-permissions-") //nolint:usetesting // t.TempDir is closed to other users.
			noError(t, err)
			t.Cleanup(func() {
				if err := os.RemoveAll(dir); err != nil {
					t.Error(err)
				}
			})
			path := filepath.Join(dir, "semel.db")
			if c.exists {
				filled(t, path, 1)
				noError(t, os.Chmod(path, c.file))
			}
			noError(t, os.Chmod(dir, c.dir))
			out, err := storetest.Command(t, "unprivileged", path).Output()
			noError(t, os.Chmod(dir, 0o700))
			noError(t, err)
			for _, w := range c.wants {
				if !strings.Contains(string(out), w) {
					t.Errorf("got %q, want %q in it", out, w)
				}
			}
		})
	}
}
