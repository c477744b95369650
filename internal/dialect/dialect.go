// Package dialect names the SQL databases that Semel's rules and guards work on,
// and writes the few things that every statement needs and no two of them write
// alike: placeholders and quoted names.
package dialect

import (
	"fmt"
	"strconv"
	"strings"
)

// Dialect is a family of databases that read the same SQL.
type Dialect uint8

// The dialects. The zero Dialect is invalid.
const (
	PostgreSQL Dialect = iota + 1
	// MySQL is MySQL and MariaDB, in what both understand.
	MySQL
	SQLite
)

// SplitDSN cuts a DSN behind its scheme, which names a kind of database or store. Its errors
// repeat nothing that could be a password: a scheme has letters only.
func SplitDSN(dsn, kind string) (scheme, rest string, err error) {
	const maxSchemeBytes = 16
	scheme, rest, found := strings.Cut(dsn, ":")
	switch {
	case !found || len(scheme) <= 1: // C:\shop.db has no scheme either
		return "", "", fmt.Errorf("it does not say which kind of %s it is", kind)
	case len(scheme) > maxSchemeBytes || strings.ContainsFunc(scheme, notLetter):
		return "", "", fmt.Errorf("the part before the colon does not name a kind of %s", kind)
	}
	return strings.ToLower(scheme), rest, nil
}

func notLetter(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// All lists the dialects.
func All() []Dialect { return []Dialect{PostgreSQL, MySQL, SQLite} }

// String is the name in files, flags and messages: postgresql, mysql or sqlite.
func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "postgresql"
	case MySQL:
		return "mysql"
	case SQLite:
		return "sqlite"
	}
	return "dialect " + strconv.Itoa(int(d))
}

// MarshalText is [Dialect.String], for JSON.
func (d Dialect) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Parse reads a name as [Dialect.String] writes it, and the other names that
// people use: postgres, pgx, mariadb, sqlite3.
func Parse(name string) (Dialect, error) {
	switch strings.ToLower(name) {
	case "postgresql", "postgres", "pg", "pgx":
		return PostgreSQL, nil
	case "mysql", "mariadb":
		return MySQL, nil
	case "sqlite", "sqlite3":
		return SQLite, nil
	}
	return 0, fmt.Errorf("dialect: %q is not one of postgresql, mysql and sqlite", name)
}

// Placeholder is the nth parameter of a statement, counted from 1.
func (d Dialect) Placeholder(n int) string {
	if d == PostgreSQL {
		return "$" + strconv.Itoa(n)
	}
	return "?"
}

// Placeholders is a list of count placeholders that starts with the nth:
// "$3, $4".
func (d Dialect) Placeholders(n, count int) string {
	list := make([]string, count)
	for i := range list {
		list[i] = d.Placeholder(n + i)
	}
	return strings.Join(list, ", ")
}

// Quote writes a name as an identifier, whatever it holds. Dots are part of the
// name; see [Dialect.QuotePath].
func (d Dialect) Quote(name string) string {
	mark := `"`
	if d == MySQL {
		mark = "`"
	}
	return mark + strings.ReplaceAll(name, mark, mark+mark) + mark
}

// QuotePath writes a name that may be qualified, such as billing.invoices.
func (d Dialect) QuotePath(path string) string {
	parts := strings.Split(path, ".")
	for i, part := range parts {
		parts[i] = d.Quote(part)
	}
	return strings.Join(parts, ".")
}
