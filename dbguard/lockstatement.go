package dbguard

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/semel-dev/semel/dialect"
)

//go:embed sql/lock_*.sql sql/fence_*.sql sql/token_*.sql
var lockFiles embed.FS

// lockStatement reads the statement of a verb, such as lock_renew: the
// dialect's own, or the one that they share. In it stand
//
//	{{table}}     the table, quoted
//	{{expiry}}    an index of the table
//	{{now}}       the database's clock in microseconds
//	{{1}}, {{2}}  parameters
func lockStatement(d dialect.Dialect, table, verb string) (string, error) {
	text, err := lockFiles.ReadFile("sql/" + verb + "_" + d.String() + ".sql")
	if err != nil {
		text, err = lockFiles.ReadFile("sql/" + verb + ".sql")
	}
	if err != nil || lockClock(d) == "" {
		return "", fmt.Errorf("dbguard: no statement %s for %s", verb, d)
	}
	return strings.NewReplacer(
		"{{table}}", d.QuotePath(table),
		"{{expiry}}", d.Quote(strings.ReplaceAll(table, ".", "_")+"_expiry"),
		"{{now}}", lockClock(d),
		"{{1}}", d.Placeholder(1), "{{2}}", d.Placeholder(2), "{{3}}", d.Placeholder(3),
	).Replace(string(text)), nil
}

// lockClock is the database's clock in microseconds since 1970, at the moment
// when it is asked and not when the transaction began.
func lockClock(d dialect.Dialect) string {
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

// lockExec runs the statement of a verb.
func lockExec(ctx context.Context, s Session, table, verb string, args ...any) (affected int64, err error) {
	statement, err := lockStatement(s.Dialect(), table, verb)
	if err != nil {
		return 0, err
	}
	return s.Exec(ctx, statement, args...)
}

// lockQuery runs the statement of a verb, which returns one row or none.
func lockQuery(ctx context.Context, s Session, table, verb string, args []any, dest ...any) (found bool, err error) {
	statement, err := lockStatement(s.Dialect(), table, verb)
	if err != nil {
		return false, err
	}
	rows, err := s.Query(ctx, statement, args...)
	if err != nil {
		return false, err
	}
	if found = rows.Next(); found {
		err = rows.Scan(dest...)
	}
	if err = errors.Join(err, rows.Close(), rows.Err()); err != nil {
		return false, err
	}
	return found, nil
}
