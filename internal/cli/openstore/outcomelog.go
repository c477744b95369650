package openstore

import (
	"cmp"
	"errors"
	"fmt"
)

// ErrNoTables says that a store keeps no tables, so that it cannot hold an outcome log.
var ErrNoTables = errors.New("the outcome log needs a store in PostgreSQL, MySQL, MariaDB or SQLite")

// OutcomeTable returns the database of a store, as [opendb.Open] takes it, and the table of its outcome log there. The error wraps
// [ErrNoTables] where the store cannot hold one.
func OutcomeTable(dsn string) (database, table string, err error) {
	scheme, rest, err := split(dsn)
	if err != nil {
		return "", "", err
	}
	switch scheme {
	case "postgres", "postgresql":
		var p parameters
		rest, p, err = takeParameters(rest, paramSchema, paramCache, paramGroupCommit)
		table = cmp.Or(p.schema, "semel") + ".outcome"
	case "mysql", "mariadb":
		var p parameters
		rest, p, err = takeParameters(rest, paramPrefix, paramCache, paramGroupCommit, paramMaxConns)
		table = cmp.Or(p.prefix, "semel_") + "outcome"
	case "sqlite":
		table = "outcome"
	default:
		return "", "", fmt.Errorf("%w: %s keeps no tables", ErrNoTables, scheme)
	}
	return scheme + ":" + rest, table, err
}
