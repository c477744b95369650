package sqlitestore_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// Promises 3 and 7: SQLite goes on writing to a file that was taken away. What
// it says then is recorded nowhere, so the store refuses to.
func TestFileTakenAway(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not let go of a file that is open")
	}
	tests := map[string]func(path string) error{
		"deleted":     os.Remove,
		"renamed":     func(path string) error { return os.Rename(path, path+".old") },
		"log deleted": func(path string) error { return os.Remove(path + "-wal") },
		"replaced": func(path string) error {
			if err := os.WriteFile(path+".new", nil, 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
		"link turned": func(path string) error {
			if err := os.Rename(path, path+".old"); err != nil {
				return err
			}
			return os.Symlink(os.DevNull, path)
		},
	}
	for name, take := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			s, err := sqlitestore.Open(t.Context(), path, nil)
			noError(t, err)
			defer func() { _ = s.Close() }() // what it could not write down does not matter here
			p := params("k")
			rec := wins(t, s, p)
			noError(t, take(path))
			_, _, claimErr := s.Claim(t.Context(), params("other"))
			_, lookupErr := s.Lookup(t.Context(), p.Digest)
			for verb, err := range map[string]error{
				"claim": claimErr, "look up": lookupErr,
				"renew":  s.Renew(t.Context(), p.Digest, rec.Fence, lease),
				"settle": s.Settle(t.Context(), p.Digest, rec.Fence, completed("x")),
			} {
				if err == nil || !strings.Contains(err.Error(), "deleted or replaced") || !claimtest.Refused(err) {
					t.Errorf("%s: got %v, want an error that says that the file is gone, for good", verb, err)
				}
			}
		})
	}
}

// A store reached through a link, whose log is next to the file itself, works.
func TestFileBehindLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link := filepath.Join(dir, "x.db"), filepath.Join(t.TempDir(), "link.db")
	filled(t, path, 1)
	if err := os.Symlink(path, link); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("SKIPPED: Windows lets only administrators make links")
		}
		t.Fatal(err)
	}
	s := open(t, link, nil)
	wins(t, s, params("new"))
	wantFound(t, s, params("k0").Digest, semel.StateCompleted)
}
