package dbguard

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
)

//go:embed sql
var files embed.FS

// statementOf reads the statement of a verb, such as lock_renew: the dialect's
// own, or the one that they share. It holds
//
//	{{table}}     the table, quoted
//	{{index}}     an index of the table, for CREATE INDEX
//	{{indexed}}   the table, for CREATE INDEX
//	{{now}}       the database's clock in microseconds
//	{{1}}, {{2}}  parameters
func statementOf(of Dialect, table, verb string) (string, error) {
	d := dialect.Dialect(of)
	text, err := files.ReadFile("sql/" + verb + "_" + d.String() + ".sql")
	if err != nil {
		text, err = files.ReadFile("sql/" + verb + ".sql")
	}
	if err != nil || clock(d) == "" {
		return "", fmt.Errorf("dbguard: no statement %s for %s", verb, d)
	}
	at := strings.LastIndexByte(table, '.') + 1
	index, indexed := d.Quote(table[at:]+"_sweep"), d.QuotePath(table)
	if d == dialect.SQLite { // there the index says in which file, and the table of an index does not
		index, indexed = d.QuotePath(table+"_sweep"), d.Quote(table[at:])
	}
	return strings.NewReplacer(
		"{{table}}", d.QuotePath(table), "{{index}}", index, "{{indexed}}", indexed, "{{now}}", clock(d),
		"{{1}}", d.Placeholder(1), "{{2}}", d.Placeholder(2), "{{3}}", d.Placeholder(3),
	).Replace(string(text)), nil
}

// clock is the database's clock in microseconds since 1970, at the moment
// when it is asked and not when the transaction began.
func clock(d dialect.Dialect) string {
	switch d {
	case dialect.PostgreSQL:
		return "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
	case dialect.MySQL: // not UNIX_TIMESTAMP: an hour comes twice where summer time ends
		return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))"
	case dialect.SQLite:
		return "CAST(unixepoch('subsec') * 1000000 AS INTEGER)"
	}
	return ""
}

// execVerb runs the statement of a verb.
func execVerb(ctx context.Context, s Session, table, verb string, args ...any) (affected int64, err error) {
	statement, err := statementOf(s.Dialect(), table, verb)
	if err != nil {
		return 0, err
	}
	affected, err = s.Exec(ctx, statement, args...)
	return affected, serialization(err)
}

// queryVerb runs the statement of a verb, which returns one row or none.
func queryVerb(ctx context.Context, s Session, table, verb string, args []any, dest ...any) (found bool, err error) {
	statement, err := statementOf(s.Dialect(), table, verb)
	if err != nil {
		return false, err
	}
	return scanFirst(ctx, s, statement, args, dest...)
}

// scanFirst runs a statement and reads its first row, if there is one.
func scanFirst(ctx context.Context, s Session, statement string, args []any, dest ...any) (found bool, err error) {
	rows, err := s.Query(ctx, statement, args...)
	if err != nil {
		return false, serialization(err)
	}
	if found = rows.Next(); found {
		err = rows.Scan(dest...)
	}
	if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return false, serialization(err)
	}
	return found, nil
}
