package sqlitestore

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/semel-dev/semel"
)

// errReadOnly is what the changing verbs of a store opened with
// [Options.ReadOnly] return.
var errReadOnly = errors.New("the store was opened read-only")

// translate gives an error of the driver to the caller: which act met it on
// which file, and what to do. A full file becomes [semel.ErrFull]; the rest
// wraps none of the contract's sentinels, which means that nobody can tell
// whether the step was taken.
func (s *Store) translate(act string, err error) error {
	return translate(s.path, act, err)
}

func translate(path, act string, err error) error {
	driverErr, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return fmt.Errorf("sqlitestore: %s: %s: %w", act, path, err)
	}
	code := driverErr.Code()
	if primary := code & 0xff; primary == sqlite3.SQLITE_FULL || primary == sqlite3.SQLITE_TOOBIG {
		return fmt.Errorf("%w: sqlitestore: %s: %s: %w (%s)", semel.ErrFull, act, path, err, hint(code))
	}
	if h := hint(code); h != "" {
		return fmt.Errorf("sqlitestore: %s: %s: %w (%s)", act, path, err, h)
	}
	return fmt.Errorf("sqlitestore: %s: %s: %w", act, path, err)
}

// hint says what an operator can do about a result code of SQLite.
func hint(code int) string {
	switch code {
	case sqlite3.SQLITE_READONLY_ROLLBACK, sqlite3.SQLITE_READONLY_RECOVERY:
		return "a process was killed while it created the file; open it once for writing"
	}
	switch code & 0xff {
	case sqlite3.SQLITE_FULL:
		return "free space on the disk, raise the bound of the file, or sweep; the store goes on as soon as there is room"
	case sqlite3.SQLITE_TOOBIG:
		return "the outcome is larger than SQLite stores; settle without keeping it"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "another process holds the file locked; find it with fuser, or raise the busy timeout"
	case sqlite3.SQLITE_READONLY:
		return "make the file and its directory writable for this user, or open the store read-only"
	case sqlite3.SQLITE_CANTOPEN:
		return "check that this user may read and write the file and its directory"
	case sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return "check the owner and the mode of the file and its directory"
	case sqlite3.SQLITE_NOTADB:
		return "this is not a SQLite database; name another file"
	case sqlite3.SQLITE_CORRUPT:
		return "the file is damaged; stop every process that uses it, keep a copy, and restore a backup or recover it with: sqlite3 FILE .recover"
	case sqlite3.SQLITE_IOERR:
		return "the disk or the file system failed; look at the kernel's log"
	case sqlite3.SQLITE_NOMEM:
		return "the process has no memory left"
	}
	return ""
}

// isBusy reports whether another connection held the lock.
func isBusy(err error) bool {
	driverErr, ok := errors.AsType[*sqlite.Error](err)
	return ok && (driverErr.Code()&0xff == sqlite3.SQLITE_BUSY || driverErr.Code()&0xff == sqlite3.SQLITE_LOCKED)
}
