package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ensureFile creates an empty file where there is none, and explains what
// stands in the way. It never opens a file that another goroutine may have
// open: closing it would drop the locks that SQLite holds for this process.
func ensureFile(path string, readOnly bool) error {
	if path == "" || path == ":memory:" {
		return fmt.Errorf("sqlitestore: %q is no file name (for a store in memory use memstore)", path)
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("sqlitestore: %s is a directory (name a file in it, such as %s)", path, filepath.Join(path, "semel.db"))
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("sqlitestore: %s is not a regular file", path)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("sqlitestore: %w (check the owner and the mode of the directories above it)", err)
	}
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("sqlitestore: %s: the directory does not exist (create it: mkdir -p %q)", path, dir)
	}
	if readOnly {
		return fmt.Errorf("sqlitestore: %s does not exist (open it once for writing)", path)
	}
	return createFile(path, dir)
}

// createFile makes an empty file that only its owner may read. It appears
// under its name complete and closed.
func createFile(path, dir string) error {
	f, err := os.CreateTemp(dir, ".semel-*")
	if err != nil {
		return fmt.Errorf("sqlitestore: create %s: %w (make the directory writable for this user, or name a file elsewhere)", path, err)
	}
	temporary := f.Name()
	if err := f.Close(); err != nil {
		return errors.Join(fmt.Errorf("sqlitestore: create %s: %w", path, err), os.Remove(temporary))
	}
	err = os.Link(temporary, path)
	if errors.Is(err, fs.ErrExist) {
		err = nil // somebody was faster
	}
	if err = errors.Join(err, os.Remove(temporary)); err != nil {
		return fmt.Errorf("sqlitestore: create %s: %w", path, err)
	}
	return nil
}
