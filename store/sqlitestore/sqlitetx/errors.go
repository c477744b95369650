package sqlitetx

import (
	"errors"

	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
)

var (
	// errBusy: the write lock of the file could not be taken in time.
	errBusy = errors.New("the file is locked for writing by another transaction")
	// errQueue: the seat of this process was taken all the time.
	errQueue = errors.New("other transactions of this process keep the only writer of the file busy")
	// errTwin: and one of those works on the same intent.
	errTwin = errors.New("another transaction of this process works on it")
)

func (s *Store) translate(act string, err error) error {
	return result.Translate("sqlitetx", s.name, act, err)
}
