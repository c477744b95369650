package sqlitestore

import "github.com/semel-dev/semel/store/sqlitestore/internal/result"

func (s *Store) translate(act string, err error) error { return translate(s.path, act, err) }

func translate(path, act string, err error) error {
	return result.Translate("sqlitestore", path, act, err)
}
