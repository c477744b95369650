package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/semel-dev/semel/store/internal/verb"
)

// ensureFile creates an empty file if there is none, and explains what prevents
// that. It never opens a file that another goroutine may have open: closing it
// would drop the locks that SQLite holds for this process.
func ensureFile(path string, readOnly bool) error {
	if path == "" || path == ":memory:" {
		return fmt.Errorf("sqlitestore: %q is not a file name (for a store in memory use memstore)", path)
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

// errGone is the error of every verb once the store's file is gone.
var errGone = verb.Refused(errors.New("the file was deleted or replaced while it was open, and what is written now would be lost; put it back or restore a backup, and start this program again"))

// openedFile identifies a file as it was opened. SQLite keeps using a file that has
// lost its name, and its contents are gone when the last process closes it;
// other processes meanwhile create an empty one and execute again.
type openedFile struct {
	path string
	info fs.FileInfo
}

// locate returns the places of the store's file and of its write-ahead log,
// which exists as long as a connection does.
func locate(path string) ([]openedFile, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	inner, err := filepath.EvalSymlinks(full)
	if err != nil {
		return nil, err
	}
	var places []openedFile
	for _, name := range []string{full, inner + "-wal"} {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) && name != full {
			continue // a reader of a file at rest has none
		}
		if err != nil {
			return nil, err
		}
		places = append(places, openedFile{name, info})
	}
	return places, nil
}

// gone reports whether a file is no longer where it was opened.
func gone(places []openedFile) error {
	for _, p := range places {
		info, err := os.Stat(p.path)
		if errors.Is(err, fs.ErrNotExist) || (err == nil && !os.SameFile(info, p.info)) {
			return errGone
		}
	}
	return nil
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
		err = nil // another process was faster
	}
	if err = errors.Join(err, os.Remove(temporary)); err != nil {
		return fmt.Errorf("sqlitestore: create %s: %w", path, err)
	}
	return nil
}
