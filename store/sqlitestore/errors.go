package sqlitestore

import (
	"errors"

	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
)

// errReadOnly is returned by the writing verbs of a store opened with
// [Options.ReadOnly].
var errReadOnly = errors.New("the store was opened read-only")

func (s *Store) translate(act string, err error) error { return translate(s.path, act, err) }

func translate(path, act string, err error) error {
	return result.Translate("sqlitestore", path, act, err)
}
