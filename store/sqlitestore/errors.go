package sqlitestore

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
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
	if primary := result.Primary(code); primary == result.Full || primary == result.TooBig {
		return fmt.Errorf("%w: sqlitestore: %s: %s: %w (%s)", semel.ErrFull, act, path, err, result.Hint(code))
	}
	if h := result.Hint(code); h != "" {
		return fmt.Errorf("sqlitestore: %s: %s: %w (%s)", act, path, err, h)
	}
	return fmt.Errorf("sqlitestore: %s: %s: %w", act, path, err)
}

// isBusy reports whether another connection held the lock.
func isBusy(err error) bool {
	driverErr, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	primary := result.Primary(driverErr.Code())
	return primary == result.Busy || primary == result.Locked
}
