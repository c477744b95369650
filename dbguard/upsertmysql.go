package dbguard

import (
	"context"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
)

// insertToChange changes the row by an insert that finds it, before the types of
// the columns are known: only VALUES has the values as they would be stored. It
// reports false, and has changed nothing, where the server refused the statement: because
// the row is as it should be or must not be changed, the insert found
// another row by another index, or it lacks a column that a new row needs. The
// comparison by types then finds out which.
func (u *upsert) insertToChange(ctx context.Context, s Session, read func(Rows) error) (bool, error) {
	n, err := readRow(ctx, s, u.insertChanging(), func(rows Rows) error {
		return read(flagged{rows, make([]int64, len(u.must)+len(u.may))})
	})
	code, known, _ := driverError(err)
	switch {
	case known && !code.endsTransaction() && !isLockFailure(err):
		return false, nil
	case err != nil || n > 0: // MariaDB
		return err == nil, u.failing(s, err)
	}
	return u.changed(ctx, s, read)
}

// mayNotCount reports whether the row comes with a value for what makes it count in
// the index, such as deleted_at. Only an insert finds out whether it then meets
// the row that is there.
func (u *upsert) mayNotCount() bool {
	rule := u.Unique.Rule
	sent := func(column string) bool { return slices.Contains(u.Columns, column) }
	return rule != nil && slices.ContainsFunc(rule.Predicate().Columns(), sent)
}

// insertChanging is the statement of insertToChange. The first assignment sees
// the row as it was. Where that is not the row to be changed, a subquery of
// two rows makes the statement fail, which otherwise would fire triggers for an
// update that changes nothing.
func (u *upsert) insertChanging() query {
	same := func(column string) string {
		kept, sent := u.dialect.Quote(column), u.sent(column)
		return kept + " <=> " + sent + " AND CAST(" + kept + " AS BINARY) <=> CAST(" + sent + " AS BINARY)"
	}
	conditions := append([]string{u.match}, texts.Of(u.must, same)...)
	conditions = append(conditions, "NOT ("+strings.Join(texts.Of(u.may, same), " AND ")+")")
	assign := texts.Of(u.may, func(column string) string { return u.dialect.Quote(column) + " = " + u.sent(column) })
	first := u.dialect.Quote(u.may[0])
	assign[0] = first + " = IF(CASE WHEN " + strings.Join(conditions, " AND ") + " THEN TRUE ELSE (SELECT 1 UNION ALL SELECT 2) END, " +
		u.sent(u.may[0]) + ", " + first + ")"
	text := "INSERT INTO " + u.table + " (" + u.names(u.Columns) + ") VALUES (" + u.dialect.Placeholders(1, len(u.Columns)) +
		") ON DUPLICATE KEY UPDATE " + strings.Join(assign, ", ")
	return query{text + u.returning(), slices.Concat(u.Values, u.args)}
}

// sent is the value that was sent for the column, as MySQL would store it.
func (u *upsert) sent(column string) string { return "VALUES(" + u.dialect.Quote(column) + ")" }
