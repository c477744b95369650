// Package parse reads statements in the dialect of a database.
package parse

import (
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/mysql"
	"github.com/semel-dev/semel/lint/internal/postgres"
	"github.com/semel-dev/semel/lint/internal/sqlite"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// Statements divides a text into its statements. One that cannot be read is a [tree.Opaque].
func Statements(d dialect.Dialect, text string) []tree.Parsed {
	switch d {
	case dialect.PostgreSQL:
		return postgres.Parse(text)
	case dialect.MySQL:
		return mysql.Parse(text)
	case dialect.SQLite:
	}
	return sqlite.Parse(text)
}
