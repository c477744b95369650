package mysqlstore

import "database/sql"

// DB returns the pool the store works with, so that business rows can use the
// same connections. The caller that opened it closes it.
func (s *Store) DB() *sql.DB { return s.db }
